// What the Efficiency page asks: of the open recording on a loader thread, of several recordings on
// that of OtherRecordings. Results are immutable.
#pragma once

#include "app/desktop/loading/other_recordings.h"
#include "app/desktop/models/selected_part.h"
#include "profiler/questions/answer/answer.h"
#include "storage/model/result.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

#include <QStringList>
#include <memory>

namespace shardscope::desktop {

struct EfficiencyFrame {
    PartPtr part;              ///< that it is of
    questions::Answer answer;  ///< that of `analyze efficiency`; empty where the part is refused
};
using EfficiencyFramePtr = std::shared_ptr<const EfficiencyFrame>;
[[nodiscard]] Result<EfficiencyFramePtr> loadEfficiency(storage::RecordingReader& reader,
                                                        const PartPtr& part,
                                                        const storage::Generation& generation);

struct ScalingQuery {
    QStringList files;
    QStringList names;    ///< what they are called
    bool anyway = false;  ///< even of different work
    friend bool operator==(const ScalingQuery&, const ScalingQuery&) = default;
};
struct ScalingFrame {
    ScalingQuery query;
    QStringList refusals;      ///< sentences: they are of different work, and nothing was asked
    questions::Answer answer;  ///< that of `compare --scaling`
};
using ScalingFramePtr = std::shared_ptr<const ScalingFrame>;
[[nodiscard]] Result<ScalingFramePtr> readScaling(const OtherRecordings::Readers& readers,
                                                  const ScalingQuery& query);

}  // namespace shardscope::desktop
