#include "app/desktop/pages/timeline/lane_depths.h"

#include <algorithm>

namespace shardscope::desktop {
namespace {

/// Coarse: the pyramid tells levels apart at every resolution.
constexpr std::int64_t kCells = 32;

}  // namespace

Result<LaneDepths> loadLaneDepths(storage::RecordingReader& reader, const OpenRecording& recording,
                                  const std::vector<LaneAddress>& lanes,
                                  const storage::Generation& generation) {
    const TimeRange whole = recording.bounds();
    const Duration cell{std::max<std::int64_t>(1, whole.duration().ns / kCells)};
    const auto slices = reader.spans(lanes, {whole, cell, generation});
    if (!slices) return failure(slices);
    LaneDepths depths;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        int levels = 0;
        for (const storage::LaneSlice& slice : (*slices)[i])
            levels = std::max(levels, slice.depth + 1);
        depths.emplace(lanes[i], levels);
    }
    return depths;
}

}  // namespace shardscope::desktop
