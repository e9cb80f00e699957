#include "app/desktop/pages/timeline/tracks/minimap_density.h"

#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

constexpr std::size_t kBuckets = 1200;
/// Lanes that are loaded together, so that memory stays bounded.
constexpr std::size_t kLanesABatch = 64;

bool isPhases(const LaneFacts& lane) {
    return lane.role == LaneRole::kCompute && !isStreamLane(lane.lane);
}

bool isWorkOfDevice(const LaneFacts& lane) {
    return isStreamLane(lane.lane) &&
           (lane.role == LaneRole::kCompute || lane.role == LaneRole::kCommunication);
}

/// The most detailed lanes of the ranks: phases, else streams, else what host threads did.
std::vector<const LaneFacts*> densityLanes(const RecordingSummary& summary) {
    const auto matching = [&](auto matches) {
        std::vector<const LaneFacts*> found;
        for (const LaneFacts& lane : summary.lanes)
            if (matches(lane)) found.push_back(&lane);
        return found;
    };
    for (auto matches : {isPhases, isWorkOfDevice})
        if (auto found = matching(matches); !found.empty()) return found;
    return matching([](const LaneFacts& lane) { return lane.role == LaneRole::kHost; });
}

std::vector<float>& bucketsOf(MinimapDensity& density, const LaneFacts& lane,
                              const storage::LaneSlice& slice) {
    if (lane.role == LaneRole::kHost) return density.rest;
    if (isStreamLane(lane.lane))
        return lane.role == LaneRole::kCompute ? density.compute : density.communication;
    if (isWait(slice.phase)) return density.communication;
    return isWork(slice.phase) || slice.phase == Phase::kEvaluation ? density.compute
                                                                    : density.rest;
}

void addLane(MinimapDensity& density, const LaneFacts& lane,
             const std::vector<storage::LaneSlice>& slices, double weight) {
    for (const storage::LaneSlice& slice : slices) {
        if (slice.depth > 0) break;  // by depth
        const auto length = static_cast<double>(slice.range.duration().ns);
        if (slice.instant || length <= 0) continue;
        const double share = std::min(1.0, static_cast<double>(slice.busy.ns) / length);
        density.add(bucketsOf(density, lane, slice), slice.range, share * weight);
    }
}

}  // namespace

bool MinimapDensity::holdsAnything() const {
    const auto isSome = [](float share) { return share > 0; };
    return std::any_of(compute.begin(), compute.end(), isSome) ||
           std::any_of(communication.begin(), communication.end(), isSome) ||
           std::any_of(rest.begin(), rest.end(), isSome);
}

void MinimapDensity::add(std::vector<float>& buckets, TimeRange part, double share) const {
    const TimeRange clipped = part.intersection(range);
    if (clipped.empty() || buckets.empty()) return;
    const double perBucket =
        static_cast<double>(range.duration().ns) / static_cast<double>(buckets.size());
    const double begin = static_cast<double>((clipped.begin - range.begin).ns) / perBucket;
    const double end = static_cast<double>((clipped.end - range.begin).ns) / perBucket;
    const auto last = std::min(static_cast<double>(buckets.size()), std::ceil(end));
    for (double i = std::floor(begin); i < last; ++i) {
        const double covered = std::min(end, i + 1) - std::max(begin, i);
        buckets[static_cast<std::size_t>(i)] += static_cast<float>(covered * share);
    }
}

Result<MinimapDensityPtr> loadMinimap(storage::RecordingReader& reader,
                                      const OpenRecording& recording,
                                      const storage::Generation& generation) {
    auto density = std::make_shared<MinimapDensity>();
    density->range = recording.bounds();
    for (auto* buckets : {&density->compute, &density->communication, &density->rest})
        buckets->resize(kBuckets);
    const auto lanes = densityLanes(recording.summary);
    if (lanes.empty()) return MinimapDensityPtr(std::move(density));
    density->isBlocked = isPhases(*lanes.front());
    const Duration cell{std::max<std::int64_t>(
        1, density->range.duration().ns / static_cast<std::int64_t>(kBuckets))};
    std::size_t ranks = 1;
    for (std::size_t i = 1; i < lanes.size(); ++i)
        ranks += lanes[i]->rank != lanes[i - 1]->rank ? 1 : 0;
    for (std::size_t first = 0; first < lanes.size(); first += kLanesABatch) {
        std::vector<LaneAddress> keys;
        for (std::size_t i = first; i < std::min(lanes.size(), first + kLanesABatch); ++i)
            keys.push_back({lanes[i]->rank, lanes[i]->lane});
        const auto slices = reader.spans(keys, {density->range, cell, generation});
        if (!slices) return failure(slices);
        for (std::size_t i = 0; i < keys.size(); ++i)
            addLane(*density, *lanes[first + i], (*slices)[i], 1.0 / static_cast<double>(ranks));
    }
    return MinimapDensityPtr(std::move(density));
}

}  // namespace shardscope::desktop
