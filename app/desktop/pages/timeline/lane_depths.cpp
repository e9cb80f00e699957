#include "app/desktop/pages/timeline/lane_depths.h"

#include "app/desktop/pages/timeline/track_levels.h"
#include "storage/recording/remote/remote_address.h"

#include <algorithm>

namespace shardscope::desktop {
namespace {

/// Coarse: the pyramid tells levels of a lane apart at every resolution.
constexpr std::int64_t kCells = 32;
/// As a picture has them, in which narrow slices of several lanes stand below each other.
constexpr std::int64_t kTrackCells = 2048;
/// Of a track that is looked at event by event.
constexpr std::int64_t kMostEvents = 100'000;

using Slices = std::vector<std::vector<storage::LaneSlice>>;

Duration partOf(TimeRange whole, std::int64_t cells) {
    return {std::max<std::int64_t>(1, whole.duration().ns / cells)};
}

int depthOf(const std::vector<storage::LaneSlice>& slices) {
    int levels = 0;
    for (const storage::LaneSlice& slice : slices) levels = std::max(levels, slice.depth + 1);
    return levels;
}

int depthOf(const std::vector<LaneAddress>& track, const OpenRecording& recording,
            const Slices& slices, Duration resolution) {
    std::vector<NestedLane> lanes;
    for (std::size_t i = 0; i < track.size(); ++i)
        if (const LaneFacts* lane = recording.lane(track[i]))
            lanes.push_back(trackLane(track[i], lane->role, lanes.size(), slices[i], resolution));
    int depth = 0;
    for (const auto& levels : nestedLevels(lanes, cellOf(resolution)))
        for (const std::uint8_t level : levels) depth = std::max(depth, level + 1);
    return depth;
}

std::int64_t eventsOf(const Slices& slices) {
    std::int64_t events = 0;
    for (const auto& lane : slices)
        for (const storage::LaneSlice& slice : lane) events += slice.count;
    return events;
}

Result<int> trackDepth(storage::RecordingReader& reader, const OpenRecording& recording,
                       const std::vector<LaneAddress>& track,
                       const storage::Generation& generation) {
    const TimeRange whole = recording.bounds();
    const Duration cell = partOf(whole, kTrackCells);
    const auto coarse = reader.spans(track, {whole, cell, generation});
    if (!coarse) return failure(coarse);
    const int depth = depthOf(track, recording, *coarse, cell);
    // from another host what is not asked for does not come: the row grows if it must
    const bool isFar = storage::remote::isRemote(recording.path.toStdString());
    if (isFar || eventsOf(*coarse) > kMostEvents) return depth;
    const auto fine = reader.spans(track, {whole, Duration{1}, generation});
    if (!fine) return failure(fine);
    return std::max(depth, depthOf(track, recording, *fine, Duration{1}));
}

}  // namespace

Result<LaneDepths> loadLaneDepths(storage::RecordingReader& reader, const OpenRecording& recording,
                                  const std::vector<std::vector<LaneAddress>>& rows,
                                  const storage::Generation& generation) {
    std::vector<LaneAddress> lanes;
    for (const auto& row : rows)
        if (row.size() == 1) lanes.push_back(row.front());
    const TimeRange whole = recording.bounds();
    const auto slices = reader.spans(lanes, {whole, partOf(whole, kCells), generation});
    if (!slices) return failure(slices);
    LaneDepths depths;
    for (std::size_t i = 0; i < lanes.size(); ++i)
        depths.emplace(std::vector{lanes[i]}, depthOf((*slices)[i]));
    for (const auto& row : rows) {
        if (row.size() < 2) continue;
        const auto depth = trackDepth(reader, recording, row, generation);
        if (!depth) return failure(depth);
        depths.emplace(row, *depth);
    }
    return depths;
}

}  // namespace shardscope::desktop
