// What the details of a slice say, and the texts that stand on it. Pure.
#pragma once

#include "app/desktop/models/meaning.h"
#include "app/desktop/models/open_recording.h"
#include "app/desktop/pages/timeline/details/collectives.h"
#include "app/desktop/pages/timeline/timeline_frame.h"

#include <QString>
#include <utility>
#include <vector>

namespace shardscope::desktop {

/// One rank's share of a collective: from its arrival to the end, waiting first.
struct ArrivalBar {
    RankId rank;
    Timestamp arrival;
    Timestamp lastArrival;
    Timestamp end;
    bool selected = false;
};

struct SliceDetails {
    QString title;
    std::vector<std::pair<QString, QString>> rows;
    std::vector<std::pair<QString, QString>> arguments;  ///< that no row speaks of
    std::vector<ArrivalBar> arrivals;                    ///< collectives only
    QString code;  ///< whole name of a kernel, where the title is a shorter one
    Meaning meaning = Meaning::kHost;
};

/// `collective`: that the slice stands for; null: none, or it is still being read.
[[nodiscard]] SliceDetails sliceDetails(const OpenRecording& recording, const LaneFacts& lane,
                                        const SliceView& slice,
                                        const CollectiveView* collective = nullptr);
/// The same in a line, for who cannot see it.
[[nodiscard]] QString spokenSlice(const SliceDetails& details);
/// Texts for a slice, longest first; the first that fits is drawn.
[[nodiscard]] std::vector<QString> sliceLabels(LaneRole role, const SliceView& slice);
[[nodiscard]] Meaning sliceMeaning(LaneRole role, const SliceView& slice);
/// Lines of the hover box.
[[nodiscard]] std::vector<std::pair<QString, QString>> sliceHover(LaneRole role,
                                                                  const SliceView& slice);
}  // namespace shardscope::desktop
