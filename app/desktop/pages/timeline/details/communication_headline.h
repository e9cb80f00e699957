// The Timeline's sentence: how much communication there is in the selected range, and what of it is
// waiting. None, not recorded and unknown are three sentences.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/selection.h"
#include "profiler/analysis/communication/collective_figures.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

#include <QString>

namespace shardscope::desktop {

struct CommunicationFacts {
    analysis::CommunicationSum sum;
    std::int64_t kernels = 0;  ///< of collectives, on streams; asked for where there is no sum
    Duration kernelTime;       ///< theirs, one stream as the other
};
/// Of the selected ranks and time, clipped. On the loader thread.
Result<CommunicationFacts> loadCommunication(storage::RecordingReader& reader,
                                             const OpenRecording& recording,
                                             const Selection& selection,
                                             const storage::Generation& generation);

/// The Timeline's sentences on what is selected.
struct RangeTexts {
    QString headline, subline;
};
[[nodiscard]] RangeTexts rangeTexts(const OpenRecording& recording, const Selection& selection,
                                    const CommunicationFacts& facts);

}  // namespace shardscope::desktop
