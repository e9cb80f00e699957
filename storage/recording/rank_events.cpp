#include "storage/recording/collective_rows.h"
#include "storage/recording/local_reader.h"

#include <algorithm>
#include <unordered_map>

namespace shardscope::storage {
namespace {

Result<std::vector<LaneId>> computeLanes(Connection& connection, RankId rank) {
    auto select = connection.prepare("SELECT lane FROM lanes WHERE rank=? AND role=?");
    if (!select) return failure(select);
    select->bind(1, std::int64_t{rank.value})
        .bind(2, static_cast<std::int64_t>(LaneRole::kCompute));
    std::vector<LaneId> lanes;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return lanes;
        lanes.push_back({static_cast<std::uint32_t>(select->integer(0))});
    }
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
        auto decoded = memoryChunk(connection, chunk.id);
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

Result<RankEvents> LocalReader::rankEvents(RankId rank, TimeRange range) {
    Visit visit(*this);
    if (auto begun = visit.begin(); !begun) return failure(begun);
    RankEvents events;
    events.rank = rank;
    auto lanes = computeLanes(visit.connection(), rank);
    if (!lanes) return failure(lanes);
    for (const LaneId lane : *lanes) {
        auto spans = m_events.spans(visit.connection(), rank, lane, range);
        if (!spans) return failure(spans);
        events.phases.insert(events.phases.end(), spans->begin(), spans->end());
    }
    std::stable_sort(events.phases.begin(), events.phases.end(),
                     [](const SpanEvent& a, const SpanEvent& b) { return a.start < b.start; });
    auto collectives = readCollectives(visit.connection(), rank, range);
    if (!collectives) return failure(collectives);
    events.collectives = std::move(*collectives);
    if (auto found = m_events.findMemoryPeak(visit.connection(), rank, range, events); !found)
        return failure(found);
    return events;
}

Result<std::vector<MemoryEvent>> LocalReader::liveMemory(RankId rank, Timestamp time) {
    Visit visit(*this);
    if (auto begun = visit.begin(); !begun) return failure(begun);
    constexpr Timestamp kBeginning{-(std::int64_t{1} << 62)};
    auto events = m_events.memory(visit.connection(), rank, {kBeginning, {time.ns + 1}});
    if (!events) return failure(events);
    std::unordered_map<std::uint64_t, const MemoryEvent*> alive;
    for (const MemoryEvent& event : *events) {
        if (event.action == MemoryAction::kAllocate)
            alive[event.address] = &event;
        else
            alive.erase(event.address);
    }
    std::vector<MemoryEvent> blocks;
    for (const auto& [address, event] : alive) blocks.push_back(*event);
    std::sort(blocks.begin(), blocks.end(), [](const MemoryEvent& a, const MemoryEvent& b) {
        return a.size != b.size ? a.size > b.size : a.address < b.address;
    });
    return blocks;
}

}  // namespace shardscope::storage
