#include "app/desktop/pages/timeline/track_levels.h"

#include "app/desktop/pages/timeline/lane_tracks.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace shardscope::desktop {

Duration cellOf(Duration resolution) {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(1, resolution.ns));
    return {static_cast<std::int64_t>(std::bit_floor(ns))};
}

NestedLane trackLane(LaneId lane, LaneRole role, std::size_t place) {
    constexpr int kStreamWork = 1000;
    return {{}, runsOnStream(lane, role) ? kStreamWork : static_cast<int>(place)};
}

namespace {

/// Then by begin; those that begin together stay as they are. Sorts what lies close together:
/// slices are large.
void sortByLevel(const TimelineFrame& frame, std::vector<TrackSlice>& slices) {
    using Key = std::tuple<std::uint8_t, std::int64_t, std::size_t>;
    std::vector<Key> keys;
    keys.reserve(slices.size());
    for (const TrackSlice& one : slices)
        keys.emplace_back(one.level, frame.lanes[one.lane].slices[one.slice].range.begin.ns,
                          keys.size());
    std::sort(keys.begin(), keys.end());
    std::vector<TrackSlice> sorted;
    sorted.reserve(slices.size());
    for (const Key& key : keys) sorted.push_back(slices[std::get<2>(key)]);
    slices = std::move(sorted);
}

void nestTrack(TimelineFrame& frame, TrackFrame& track) {
    std::vector<std::uint32_t> places;
    std::vector<NestedLane> lanes;
    for (const LaneAddress& key : track.lanes) {
        const LaneFrame* lane = frame.lane(key);
        if (lane == nullptr) continue;
        lanes.push_back(
            trackLane(key, lane->role, lanes.size(), lane->slices, frame.query.resolution));
        places.push_back(static_cast<std::uint32_t>(lane - frame.lanes.data()));
    }
    auto levels = nestedLevels(lanes, cellOf(frame.query.resolution));
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        for (std::uint32_t slice = 0; slice < levels[i].size(); ++slice)
            track.slices.push_back({places[i], slice, levels[i][slice]});
        frame.lanes[places[i]].levels = std::move(levels[i]);
    }
    sortByLevel(frame, track.slices);
}

}  // namespace

void nestTracks(TimelineFrame& frame) {
    for (const auto& lanes : frame.query.tracks)
        nestTrack(frame, frame.tracks.emplace_back(TrackFrame{lanes, {}}));
}

int levelOf(const TimelineFrame& frame, LaneAddress key, const SliceView& slice) {
    const LaneFrame* lane = frame.lane(key);
    if (lane == nullptr || lane->levels.empty()) return slice.depth;
    const auto& slices = lane->slices;
    const auto isBefore = [](const SliceView& a, const SliceView& b) {
        return std::tuple(a.depth, a.range.begin) < std::tuple(b.depth, b.range.begin);
    };
    // the last that does not begin later: itself, what it is merged into, or the one before
    auto at = std::upper_bound(slices.begin(), slices.end(), slice, isBefore);
    if (at != slices.begin() && std::prev(at)->depth == slice.depth) --at;
    if (at == slices.end() || at->depth != slice.depth) return slice.depth;
    return lane->levels[static_cast<std::size_t>(at - slices.begin())];
}

}  // namespace shardscope::desktop
