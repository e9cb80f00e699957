#include "storage/recording/file/row_sql.h"
#include "storage/recording/read/local_reader.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace shardscope::storage {
namespace {

struct Lane {
    LaneId id;
    LaneRole role = LaneRole::kHost;
};

/// Of compute and communication; and the device's energy counter.
Result<std::vector<Lane>> lanesOf(Connection& connection, RankId rank) {
    auto select = connection.prepare(
        "SELECT lane, role FROM lanes WHERE rank=? AND (role IN (?,?) OR (name=? AND unit=?))");
    if (!select) return failure(select);
    select->bind(1, std::int64_t{rank.value})
        .bind(2, static_cast<std::int64_t>(LaneRole::kCompute))
        .bind(3, static_cast<std::int64_t>(LaneRole::kCommunication))
        .bind(4, "energy")
        .bind(5, "J");
    std::vector<Lane> lanes;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return lanes;
        lanes.push_back({{static_cast<std::uint32_t>(select->integer(0))},
                         static_cast<LaneRole>(select->integer(1))});
    }
}

/// Sorts a lane's spans by what analyses read: phases, kernels of either kind.
void take(const Lane& lane, std::vector<SpanEvent> spans, RankEvents& events) {
    const bool compute = lane.role == LaneRole::kCompute;
    const auto isPhase = [](const SpanEvent& span) { return span.correlation == 0; };
    if (compute && events.phases.empty() && std::all_of(spans.begin(), spans.end(), isPhase)) {
        events.phases = std::move(spans);  // a long run has millions
        return;
    }
    for (const SpanEvent& span : spans) {
        if (!compute)
            events.communicationKernels.push_back(span.range());
        else if (isPhase(span))
            events.phases.push_back(span);
        else
            events.computeKernels.push_back(span.range());
    }
}

/// Measuring the matrix-multiply peak takes memory of its own, which a small model never does.
TimeRange afterCalibration(const std::vector<SpanEvent>& phases, TimeRange range) {
    for (const SpanEvent& phase : phases) {
        if (phase.phase == Phase::kCalibration)
            range.begin = std::max(range.begin, phase.range().end);
    }
    return range;
}

/// The stored peak of a chunk that lies within the range whole.
Result<bool> takeStoredPeak(Connection& connection, std::int64_t chunk, RankEvents& events) {
    auto select =
        connection.prepare("SELECT peak_ns, peak_bytes, peak FROM memory_state WHERE chunk=?");
    if (!select) return failure(select);
    auto row = select->bind(1, chunk).step();
    if (!row) return failure(row);
    if (!*row) return false;
    if (Bytes{select->integer(1)} > events.peakMemory) {
        events.peakTime = {select->integer(0)};
        events.peakMemory = {select->integer(1)};
        events.peakByCategory = MemoryTally::fromBlob(select->blob(2));
    }
    return true;
}

/// The highest memory of what was thinned, which the file keeps. It is of training alone.
Result<void> takeThinnedPeak(Connection& connection, TimeRange range, RankEvents& events) {
    const auto rows = readDetail(connection);
    if (!rows) return failure(rows);
    for (const DetailFacts& row : *rows) {
        if (row.rank != events.rank || !row.peak || !range.contains(row.peak->time)) continue;
        events.hasMemoryEvents = true;
        if (row.peak->size <= events.peakMemory) continue;
        events.peakMemory = row.peak->size;
        events.peakTime = row.peak->time;
        events.peakByCategory = row.peak->byCategory;
    }
    return {};
}

}  // namespace

Result<void> EventSource::findMemoryPeak(Connection& connection, RankId rank, TimeRange range,
                                         RankEvents& events) {
    for (const ChunkEntry& chunk : m_directory.chunks(EventKind::kMemory, rank, {})) {
        if (!mayTouch(chunk, range)) continue;
        events.hasMemoryEvents = true;
        if (chunk.first >= range.begin && chunk.last < range.end) {
            auto taken = takeStoredPeak(connection, chunk.id, events);
            if (!taken) return failure(taken);
            if (*taken) continue;
        }
        auto before = memoryBefore(connection, chunk.id);
        if (!before) return failure(before);
        auto decoded = this->chunk<MemoryEvent>(connection, chunk.id);
        if (!decoded) return failure(decoded);
        MemoryTally tally = MemoryTally::startingAt(*before);
        for (const MemoryEvent& event : **decoded) {
            tally.apply(event);
            if (!range.contains(event.time) || tally.total() <= events.peakMemory) continue;
            events.peakMemory = tally.total();
            events.peakTime = event.time;
            events.peakByCategory = tally.bytes();
        }
    }
    return {};
}

Result<RankEvents> LocalReader::eventsOfRank(Connection& connection, RankId rank, TimeRange range) {
    RankEvents events;
    events.rank = rank;
    auto lanes = lanesOf(connection, rank);
    if (!lanes) return failure(lanes);
    for (const Lane& lane : *lanes) {
        // the engine's drawing of its collectives
        if (lane.role == LaneRole::kCommunication && !isStreamLane(lane.id)) continue;
        if (lane.role == LaneRole::kCounter) {
            auto samples = m_events.samples(connection, rank, lane.id, range);
            if (!samples) return failure(samples);
            events.energy = std::move(*samples);
            continue;
        }
        auto spans = m_events.spans(connection, rank, lane.id, range);
        if (!spans) return failure(spans);
        take(lane, std::move(*spans), events);
    }
    sortIfNeeded(events.phases,
                 [](const SpanEvent& a, const SpanEvent& b) { return a.start < b.start; });
    if (auto done = unpack(connection); !done) return failure(done);
    auto collectives = m_collectives.read(connection, rank, range);
    if (!collectives) return failure(collectives);
    events.collectives = std::move(*collectives);
    const TimeRange counted = afterCalibration(events.phases, range);
    if (auto found = m_events.findMemoryPeak(connection, rank, counted, events); !found)
        return failure(found);
    // Nothing after it: what little there is, then.
    if (events.peakMemory.count == 0 && counted.begin != range.begin) {
        if (auto found = m_events.findMemoryPeak(connection, rank, range, events); !found)
            return failure(found);
    }
    if (auto taken = takeThinnedPeak(connection, range, events); !taken) return failure(taken);
    return events;
}

Result<std::vector<MemoryEvent>> LocalReader::memoryAt(Connection& connection, RankId rank,
                                                       Timestamp time) {
    constexpr Timestamp kBeginning{-(std::int64_t{1} << 62)};
    std::unordered_map<std::uint64_t, MemoryEvent> alive;
    auto shown = m_events.forMemory(connection, rank, {kBeginning, {time.ns + 1}},
                                    [&](const MemoryEvent& event) {
                                        if (event.action == MemoryAction::kAllocate)
                                            alive[event.address] = event;
                                        else
                                            alive.erase(event.address);
                                    });
    if (!shown) return failure(shown);
    std::vector<MemoryEvent> blocks;
    for (const auto& [address, event] : alive) blocks.push_back(event);
    std::sort(blocks.begin(), blocks.end(), [](const MemoryEvent& a, const MemoryEvent& b) {
        return a.size != b.size ? a.size > b.size : a.address < b.address;
    });
    return blocks;
}

}  // namespace shardscope::storage
