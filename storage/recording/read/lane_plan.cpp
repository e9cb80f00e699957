#include "storage/recording/read/lane_plan.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace shardscope::storage {
namespace {

/// Up to here decoding the events themselves is as fast as anything.
constexpr std::uint64_t kExactLimit = 4'096;
/// A chunk over more segments than this is not worth the look.
constexpr std::int64_t kManySegments = 4096;

std::uint64_t countOf(const std::vector<ChunkEntry>& chunks) {
    std::uint64_t count = 0;
    for (const ChunkEntry& chunk : chunks) count += chunk.count;
    return count;
}

/// The pyramid level whose buckets are just no wider than a pixel, if there is one and the events
/// are too many to be read one by one.
std::optional<int> levelFor(Duration resolution, std::uint64_t events) {
    if (events <= kExactLimit || resolution.ns < std::int64_t{1} << columns::kBaseShift)
        return std::nullopt;
    const int level = (cellShift(resolution) - columns::kBaseShift) / columns::kLevelShift;
    return std::min(level, columns::kPyramidLevels - 1);
}

bool earlier(const SegmentEntry& entry, const std::pair<int, std::int64_t>& key) {
    return std::pair(entry.level, entry.segment) < key;
}

void addSegments(int level, const std::vector<SegmentEntry>& all, TimeRange range, LanePlan& plan) {
    const auto [from, to] = segmentsOf(level, range);
    auto entry = std::lower_bound(all.begin(), all.end(), std::pair(level, from), earlier);
    for (; entry != all.end() && entry->level == level && entry->segment <= to; ++entry)
        plan.stored.push_back(*entry);
}

/// Whether a chunk has events of `level` within `range` that are not stored.
bool isUncovered(const LanePlan& plan, int level, const ChunkEntry& chunk, TimeRange range) {
    const auto [from, to] = segmentsOf(level, range);
    const std::int64_t first = std::max(from, columns::segmentOf(level, chunk.first));
    const std::int64_t last = std::min(to, columns::segmentOf(level, chunk.last));
    if (last - first > kManySegments) return true;
    for (std::int64_t segment = first; segment <= last; ++segment)
        if (!plan.covers(level, segment, chunk.id)) return true;
    return false;
}

/// What the levels from `plan.level` to `highest` contribute.
void planLevels(int highest, const std::vector<SegmentEntry>& all,
                const std::vector<ChunkEntry>& chunks, TimeRange range, LanePlan& plan) {
    for (int level = *plan.level; level <= highest; ++level) addSegments(level, all, range, plan);
    for (const ChunkEntry& chunk : chunks) {
        if (!mayTouch(chunk, range)) continue;
        bool needed = false;
        for (int level = *plan.level; level <= highest && !needed; ++level)
            needed = isUncovered(plan, level, chunk, range);
        if (!needed) continue;
        plan.uncovered.push_back(chunk.id);
        plan.events += chunk.count;
    }
}

}  // namespace

int cellShift(Duration resolution) {
    if (resolution.ns <= 1) return 0;
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(resolution.ns))) - 1;
}

TimeRange sensible(TimeRange range) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 61;
    return range.intersection({{-kLimit}, {kLimit}});
}

SegmentRange segmentsOf(int level, TimeRange range) {
    // A span that starts before the range can still reach into it; on the top level from any time.
    const std::int64_t reach = std::int64_t{4} << columns::bucketShift(level);
    const bool top = level + 1 == columns::kPyramidLevels;
    return {top ? std::numeric_limits<std::int32_t>::min()
                : columns::segmentOf(level, {range.begin.ns - reach}),
            columns::segmentOf(level, range.end)};
}

bool LanePlan::covers(int at, std::int64_t segment, std::int64_t chunk) const {
    const auto entry =
        std::lower_bound(stored.begin(), stored.end(), std::pair(at, segment), earlier);
    if (entry == stored.end() || entry->level != at || entry->segment != segment)
        return missingIsEmpty && at >= columns::kFirstLevelAlwaysStored;
    return entry->throughChunk >= chunk;
}

Result<LanePlan> planSpans(const PlanContext& context, LaneAddress lane, const View& view) {
    const auto chunksOf = [&](EventKind kind) -> const std::vector<ChunkEntry>& {
        return context.events.directory().chunks(kind, lane.rank, lane.lane);
    };
    LanePlan plan;
    plan.lane = lane;
    // A lane holds one or the other.
    if (chunksOf(EventKind::kSpan).empty()) plan.kind = EventKind::kInstant;
    const std::vector<ChunkEntry>& chunks = chunksOf(plan.kind);
    plan.missingIsEmpty = context.finalised;
    plan.chunks = touching(chunks, view.range);
    plan.events = countOf(plan.chunks);
    plan.level = levelFor(view.resolution, plan.events);
    if (!plan.level) return plan;
    auto all = context.pyramid.segments(context.connection, lane.rank, lane.lane);
    if (!all) return failure(all);
    if (context.finalised && (*all)->empty()) {
        plan.level.reset();  // a small recording: no pyramid at all
        return plan;
    }
    plan.chunks.clear();
    plan.events = 0;
    planLevels(columns::kPyramidLevels - 1, **all, chunks, view.range, plan);
    return plan;
}

Result<LanePlan> planSamples(const PlanContext& context, LaneAddress lane, const View& view) {
    const auto& chunks = context.events.sampleChunks(lane.rank, lane.lane);
    LanePlan plan;
    plan.lane = lane;
    plan.kind = sampleKind(lane.lane);
    plan.missingIsEmpty = context.finalised;
    plan.level = levelFor(view.resolution, countOf(touching(chunks, view.range)));
    const std::vector<SegmentEntry>* all = nullptr;
    if (plan.level) {
        auto listed = context.pyramid.segments(context.connection, lane.rank, lane.lane);
        if (!listed) return failure(listed);
        all = *listed;
        if (context.finalised && all->empty()) plan.level.reset();  // as with spans
    }
    // From the pyramid only the value in force at the beginning is read as a sample.
    const TimeRange read = plan.level ? TimeRange{view.range.begin, view.range.begin} : view.range;
    plan.chunks = context.events.sampleChunks(lane.rank, lane.lane, read);
    plan.events = countOf(plan.chunks);
    if (plan.level) planLevels(*plan.level, *all, chunks, view.range, plan);
    return plan;
}

}  // namespace shardscope::storage
