// What the Operators & kernels page asks of a recording. Loader threads.
#pragma once

#include "app/desktop/models/flame_data.h"
#include "app/desktop/models/selected_part.h"
#include "profiler/questions/answer/answer.h"
#include "profiler/questions/occurrences.h"
#include "profiler/questions/read_device.h"
#include "profiler/questions/read_stacks.h"
#include "storage/model/result.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

#include <memory>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// Ranks whose queues are drawn: lines of more cover each other.
inline constexpr std::size_t kMostQueueRanks = 1;

/// Stacks of one kind of lanes of a part.
struct StacksFrame {
    PartPtr part;
    std::vector<questions::StackKind> kinds;  ///< that there are lanes of
    std::optional<questions::StackKind> kind;
    questions::Stacks stacks;
};
using StacksFramePtr = std::shared_ptr<const StacksFrame>;
/// Of the kind that is wanted; of none, or one that is not there, the first.
[[nodiscard]] Result<StacksFramePtr> loadStacks(storage::RecordingReader& reader,
                                                const PartPtr& part,
                                                std::optional<questions::StackKind> wanted,
                                                const storage::Generation& generation);

/// Which way the time is shown.
struct FlameShape {
    bool byLane = false;    ///< lanes and ranks apart
    bool inverted = false;  ///< what ran itself first, its callers within
};
[[nodiscard]] std::shared_ptr<const FlameData> flameOf(const StacksFrame& frame, FlameShape shape);

/// Callers and callees of a name.
struct NamedCalls {
    QString name;
    analysis::CallsOf calls;
};
/// Over all lanes of the frame; of a name that is not in it those of the one with the most own
/// time. The frame is not empty.
[[nodiscard]] NamedCalls callsIn(const StacksFrame& frame, const QString& name);

/// What the tables and charts of the page say.
struct WorkFrame {
    PartPtr part;
    questions::Answer work, launches;
    std::vector<questions::StreamQueue> queues;  ///< of kMostQueueRanks ranks
};
using WorkFramePtr = std::shared_ptr<const WorkFrame>;
[[nodiscard]] Result<WorkFramePtr> loadWork(storage::RecordingReader& reader, const PartPtr& part,
                                            const storage::Generation& generation);

using FoundSpans = std::optional<questions::Occurrences>;
/// The first of `kinds` that has one of the name.
[[nodiscard]] Result<FoundSpans> loadOccurrences(storage::RecordingReader& reader,
                                                 const PartPtr& part,
                                                 const std::vector<questions::StackKind>& kinds,
                                                 const QString& name,
                                                 const storage::Generation& generation);

}  // namespace shardscope::desktop
