// What a caching allocator had reserved at a moment, from what an imported memory snapshot of
// PyTorch says: its segments at the end, and what its history says became of them. Internal to
// profiler/questions.
#pragma once

#include "profiler/analysis/address_space.h"
#include "storage/model/allocator_lanes.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::questions {

/// A lane of a snapshot's import by its name; null: the rank was not imported from one, or has no
/// such lane.
[[nodiscard]] const LaneFacts* findSnapshotLane(const RecordingSummary& summary, RankId rank,
                                                std::string_view name);

struct SegmentsThen {
    std::optional<std::vector<analysis::Segment>> segments;
    std::string unknown;  ///< where there are none: why
};
[[nodiscard]] Result<SegmentsThen> readSegments(storage::RecordingReader& reader,
                                                const RecordingSummary& summary, RankId rank,
                                                Timestamp time);

}  // namespace shardscope::questions
