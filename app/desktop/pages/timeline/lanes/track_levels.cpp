#include "app/desktop/pages/timeline/lanes/track_levels.h"

#include "storage/model/lanes.h"
#include "storage/recording/remote/remote_address.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace shardscope::desktop {
namespace {

bool nests(const KnownLane& lane) {
    if (lane.facts->role == LaneRole::kCounter) return false;
    if (isOverheadLane(lane.facts->lane, lane.facts->name)) return false;
    if (lane.identity.section == LaneSection::kThreads) return true;
    if (lane.identity.section != LaneSection::kStreams) return false;
    return lane.identity.content == LaneContent::kAnnotations ||
           runsOnStream(lane.facts->lane, lane.facts->role);
}

bool areTogether(const KnownLane& a, const KnownLane& b) {
    return a.facts->rank == b.facts->rank && a.identity.section == b.identity.section &&
           a.identity.group == b.identity.group && nests(a) && nests(b);
}

/// Coarse: the pyramid keeps levels of a lane separate at every resolution.
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

bool runsOnStream(LaneId lane, LaneRole role) {
    return isStreamLane(lane) && (role == LaneRole::kCompute || role == LaneRole::kCommunication ||
                                  role == LaneRole::kCopy);
}

std::vector<LanesOfRow> rowsOf(const LanesOfRow& lanes, bool nested) {
    std::vector<LanesOfRow> rows;
    for (const KnownLane* lane : lanes) {
        const auto track = std::find_if(rows.begin(), rows.end(), [&](const LanesOfRow& row) {
            return nested && areTogether(*row.front(), *lane);
        });
        if (track != rows.end())
            track->push_back(lane);
        else
            rows.push_back({lane});
    }
    for (LanesOfRow& row : rows)
        std::stable_sort(row.begin(), row.end(), [](const KnownLane* a, const KnownLane* b) {
            return a->identity.content < b->identity.content;
        });
    return rows;
}

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
