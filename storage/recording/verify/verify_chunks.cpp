#include "storage/columns/stored_kinds.h"
#include "storage/recording/file/memory_tally.h"
#include "storage/recording/verify/verify_parts.h"

#include <algorithm>
#include <optional>

namespace shardscope::storage {
namespace {

std::string nameOf(std::int64_t chunk) {
    return "chunk " + std::to_string(chunk);
}

/// The chunks of one kind, rank and lane.
class LaneVerifier {
public:
    LaneVerifier(VerifyContext& context, Statement& select, const ChunkDirectory::Lane& lane)
        : m_context(context), m_select(select), m_lane(lane) {}

    void run() {
        const bool known = columns::withStoredKind(
            m_lane.kind, [&]<class Event>(columns::StoredKind<Event> stored) {
                if constexpr (stored.lanes)
                    runLane<Event>();
                else
                    runMemory();
            });
        if (!known) m_context.found.add("chunks", "a row has a kind that does not exist");
    }

private:
    template <class Event>
    void runLane() {
        PyramidAudit audit(m_context, m_lane.rank, m_lane.lane);
        constexpr bool kFlows = std::is_same_v<Event, FlowEvent>;
        if constexpr (!kFlows) audit.load(!std::is_same_v<Event, CounterEvent>);
        expectLane();
        bool whole = true;
        for (const ChunkEntry& entry : inOrder()) {
            const auto bytes = chunk(entry);
            whole = bytes && addEvents<Event>(entry, *bytes, audit) && whole;
        }
        // A lost chunk is the fault then, not the sums that still count it.
        if constexpr (!kFlows)
            if (whole) audit.compare(false);
    }

    [[nodiscard]] std::vector<ChunkEntry> inOrder() const {
        std::vector<ChunkEntry> chunks = *m_lane.chunks;
        std::sort(chunks.begin(), chunks.end(),
                  [](const ChunkEntry& a, const ChunkEntry& b) { return a.id < b.id; });
        return chunks;
    }

    void fault(const ChunkEntry& entry, const std::string& what) {
        m_context.found.add("chunks", nameOf(entry.id) + " " + what);
    }

    /// Before which there can be nothing.
    [[nodiscard]] Timestamp thinned() const {
        return m_lane.kind == EventKind::kMemory
                   ? shardscope::thinnedUntil(m_context.detail, m_lane.rank, true)
                   : m_context.thinnedUntil(m_lane.rank, m_lane.lane);
    }

    void expectLane() {
        if (!m_context.known.ranks.contains(m_lane.rank.value))
            m_context.found.add("chunks", "events of rank " + std::to_string(m_lane.rank.value) +
                                              ", which has no row in ranks");
        if (m_lane.kind == EventKind::kMemory) return;
        if (!m_context.known.lanes.contains({m_lane.rank, m_lane.lane}))
            m_context.found.add("chunks", "events of rank " + std::to_string(m_lane.rank.value) +
                                              " on lane " + std::to_string(m_lane.lane.value) +
                                              ", which has no row in lanes");
    }

    /// The chunk's bytes, when its header agrees with its row.
    std::optional<std::vector<std::byte>> chunk(const ChunkEntry& entry) {
        ++m_context.found.chunks;
        auto row = m_select.bind(1, entry.id).step();
        if (!row || !*row) {
            fault(entry, row ? "is in the index but not in the table"
                             : "cannot be read: " + row.error().message);
            m_select.reset();
            return std::nullopt;
        }
        const auto blob = m_select.blob(0);
        std::vector<std::byte> bytes(blob.begin(), blob.end());
        const bool sized = m_select.integer(1) == static_cast<std::int64_t>(bytes.size());
        m_select.reset();
        auto header = columns::decodeHeader(bytes);
        if (!header) {
            fault(entry, "is no chunk: " + header.error().message);
            return std::nullopt;
        }
        const bool same = header->kind == m_lane.kind && header->rank == m_lane.rank &&
                          header->count == entry.count && header->first == entry.first &&
                          header->last == entry.last;
        const bool sameLane = header->lanes.empty() || (header->lanes.size() == 1 &&
                                                        header->lanes.front().lane == m_lane.lane);
        if (!same || !sameLane || !sized) fault(entry, "says something else than its row");
        if (entry.first < thinned())
            fault(entry, "has events where the file says that they were thinned");
        return bytes;
    }

    template <class Events>
    bool decoded(const ChunkEntry& entry, const Events& events) {
        if (!events) {
            fault(entry, "does not decode: " + events.error().message);
            return false;
        }
        m_context.eventsOfRank[m_lane.rank] += events->size();
        m_context.found.events.of(m_lane.kind) += events->size();
        return true;
    }

    template <class Event>
    void expectTexts(const ChunkEntry& entry, const std::vector<Event>& events) {
        std::uint64_t missing = 0;
        for (const Event& event : events)
            for (const StringId* id : columns::StoredKind<Event>::texts(event))
                if (!m_context.hasText(m_lane.rank, *id)) ++missing;
        if (missing > 0)
            fault(entry,
                  "refers to strings that are not there, " + std::to_string(missing) + " times");
    }

    template <class Event>
    bool addEvents(const ChunkEntry& entry, std::span<const std::byte> bytes, PyramidAudit& audit) {
        const auto events = columns::StoredKind<Event>::decode(bytes);
        if (!decoded(entry, events)) return false;
        expectTexts(entry, *events);
        if constexpr (std::is_same_v<Event, InstantEvent>) {
            if (m_context.spanLanes.contains({m_lane.rank, m_lane.lane}))
                fault(entry, "holds instants on a lane of spans");
            audit.add(entry.id, columns::asSpans(*events));
        } else if constexpr (!std::is_same_v<Event, FlowEvent>) {
            audit.add(entry.id, *events);
        }
        return true;
    }

    void runMemory() {
        expectLane();
        std::map<LaneId, PyramidAudit> lanes;
        for (const auto& [key, role] : m_context.known.lanes) {
            if (key.first != m_lane.rank || !isMemoryLane(key.second)) continue;
            const auto at = lanes.try_emplace(key.second, m_context, key.first, key.second).first;
            at->second.load(false);
        }
        MemoryTally tally;
        bool whole = true;
        for (const ChunkEntry& entry : inOrder()) {
            const auto bytes = chunk(entry);
            whole = bytes && addMemory(entry, *bytes, tally, lanes) && whole;
        }
        if (!whole) return;
        for (auto& [lane, audit] : lanes) audit.compare(true);
    }

    bool addMemory(const ChunkEntry& entry, std::span<const std::byte> bytes, MemoryTally& tally,
                   std::map<LaneId, PyramidAudit>& lanes) {
        const auto events = columns::decodeMemory(bytes);
        if (!decoded(entry, events)) return false;
        expectTexts(entry, *events);
        for (auto& [lane, audit] : lanes) {
            auto samples = laneSamples(tally, lane, *events);
            // The first repeats the value in force, see PyramidAudit::compare.
            samples.erase(samples.begin());
            audit.add(entry.id, samples);
        }
        const MemoryTally::ByCategory before = tally.bytes();
        tally.restartPeak(entry.first);
        for (const MemoryEvent& event : *events) tally.apply(event);
        expectState(entry, before, tally);
        return true;
    }

    void expectState(const ChunkEntry& entry, const MemoryTally::ByCategory& before,
                     const MemoryTally& after) {
        std::int64_t rows = 0;
        forRows(m_context, "memory_state",
                "SELECT before, peak_ns, peak_bytes, peak FROM memory_state WHERE chunk=" +
                    std::to_string(entry.id),
                [&](const Statement& row) {
                    ++rows;
                    ++m_context.found.memoryStates;
                    const bool same = MemoryTally::fromBlob(row.blob(0)) == before &&
                                      row.integer(1) == after.peakTime().ns &&
                                      row.integer(2) == after.peak().count &&
                                      MemoryTally::fromBlob(row.blob(3)) == after.atPeak();
                    if (!same)
                        m_context.found.add(
                            "memory_state",
                            "of " + nameOf(entry.id) + " is not what its events sum up to");
                });
        if (rows == 0) m_context.found.add("memory_state", nameOf(entry.id) + " has none");
    }

    VerifyContext& m_context;
    Statement& m_select;
    const ChunkDirectory::Lane& m_lane;
};

/// What no chunk led to.
void verifyLeftovers(VerifyContext& context, const ChunkDirectory& directory) {
    forRows(context, "memory_state",
            "SELECT count(*) FROM memory_state WHERE chunk NOT IN"
            " (SELECT id FROM chunks WHERE kind=2)",
            [&](const Statement& row) {
                if (row.integer(0) > 0)
                    context.found.add("memory_state", std::to_string(row.integer(0)) +
                                                          " rows belong to no memory chunk");
            });
    forRows(context, "pyramid", "SELECT DISTINCT rank, lane FROM pyramid",
            [&](const Statement& row) {
                const RankId rank{static_cast<std::uint32_t>(row.integer(0))};
                const LaneId lane{static_cast<std::uint32_t>(row.integer(1))};
                const auto at = context.known.lanes.find({rank, lane});
                const bool counter =
                    at != context.known.lanes.end() && at->second == LaneRole::kCounter;
                const auto none = [&](EventKind kind) {
                    return directory.chunks(kind, rank, lane).empty();
                };
                const bool empty = counter ? none(EventKind::kCounter)
                                           : none(EventKind::kSpan) && none(EventKind::kInstant);
                if (!isMemoryLane(lane) && empty) {
                    PyramidAudit audit(context, rank, lane);
                    audit.load(!counter);
                    audit.compare(false);
                }
                if (at == context.known.lanes.end())
                    context.found.add("pyramid", "rank " + std::to_string(rank.value) + " lane " +
                                                     std::to_string(lane.value) +
                                                     " has no row in lanes");
            });
}

}  // namespace

void verifyChunks(VerifyContext& context) {
    ChunkDirectory directory;
    if (auto read = directory.refresh(context.connection); !read)
        context.found.add("chunks", "their index cannot be read: " + read.error().message);
    auto select = context.connection.prepare("SELECT data, bytes FROM chunks WHERE id=?");
    if (!select) return context.found.add("chunks", "cannot be read: " + select.error().message);
    for (const ChunkDirectory::Lane& lane : directory.lanes()) {
        if (lane.kind == EventKind::kSpan) context.spanLanes.insert({lane.rank, lane.lane});
        LaneVerifier(context, *select, lane).run();
    }
    verifyLeftovers(context, directory);
}

}  // namespace shardscope::storage
