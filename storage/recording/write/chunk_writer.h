// Stores event chunks, one lane a chunk, and what is derived from them. Part of the writer.
#pragma once

#include "storage/columns/chunk.h"
#include "storage/model/detail.h"
#include "storage/recording/file/memory_tally.h"
#include "storage/recording/write/pyramid_store.h"
#include "storage/sqlite/connection.h"

#include <map>
#include <optional>
#include <span>
#include <vector>

namespace shardscope::storage {

class ChunkWriter {
public:
    static Result<ChunkWriter> create(Connection& connection);

    /// A chunk of any kind; an error when it does not decode.
    Result<void> add(const columns::ChunkHeader& header, std::span<const std::byte> chunk);

    /// Stores pyramids that are due, or all of them.
    Result<void> writePyramids(PyramidStore::Which which) {
        return m_pyramids.write(which, m_lastChunk);
    }

    /// About so much writePyramids() of all would write.
    [[nodiscard]] Bytes pyramidBytes() const { return m_pyramids.changedBytes(); }

    [[nodiscard]] const EventCounts& events() const { return m_events; }
    /// Latest end of anything that came in a chunk.
    [[nodiscard]] Timestamp newest() const { return m_newest; }

    /// Takes what started before `time` out of a lane's pyramid.
    Result<void> trimPyramid(RankId rank, LaneId lane, Timestamp time) {
        return m_pyramids.trim(rank, lane, time, m_lastChunk);
    }
    /// Feeds the pyramids of a rank's memory lanes; the tally stands at `before`.
    Result<void> addMemorySamples(RankId rank, const MemoryTally::ByCategory& before,
                                  const std::vector<MemoryEvent>& events);

    /// Until when a rank's detail was taken out of the file, by what only the level full holds and
    /// by everything: what comes later and started before is left out as well, and counted.
    struct Thinned {
        Timestamp fullOnly = kBeginningOfTime;
        Timestamp all = kBeginningOfTime;
    };
    void noteThinned(RankId rank, const Thinned& until) { m_thinned[rank] = until; }

private:
    ChunkWriter(Connection& connection, PyramidStore pyramids)
        : m_connection(&connection), m_pyramids(std::move(pyramids)) {}

    Result<void> addMemory(RankId rank, std::span<const std::byte> chunk);
    Result<void> addCollectives(RankId rank, std::span<const std::byte> chunk);
    /// Of a kind whose events lie on lanes.
    template <class Event>
    Result<void> addByLane(const columns::ChunkHeader& came, std::span<const std::byte> chunk);
    Result<void> feed(RankId rank, LaneId lane, const std::vector<SpanEvent>& events);
    Result<void> feed(RankId rank, LaneId lane, const std::vector<CounterEvent>& events);
    Result<void> feed(RankId rank, LaneId lane, const std::vector<InstantEvent>& events);
    /// Arrows are not drawn from afar.
    static Result<void> feed(RankId, LaneId, const std::vector<FlowEvent>&) { return {}; }
    /// Takes out of a chunk's events what was thinned already, and counts it. The rest is whole
    /// where nothing was.
    template <class Event>
    Result<void> dropThinned(RankId rank, std::vector<Event>& events);
    Result<Timestamp> thinnedUntil(RankId rank, LaneId lane);

    Result<void> insert(const columns::ChunkHeader& header, std::optional<LaneId> lane,
                        std::span<const std::byte> bytes);
    /// In chunks of the size that readers like.
    template <class Event>
    Result<void> insertParts(RankId rank, LaneId lane, const std::vector<Event>& events);
    Result<void> insertCollective(RankId rank, const CollectiveEvent& event);
    Result<void> insertMemoryState(const MemoryTally::ByCategory& before, const MemoryTally& after);
    Result<void> declareMemoryLanes(RankId rank, const std::vector<MemoryEvent>& events);

    Connection* m_connection;
    PyramidStore m_pyramids;
    std::optional<Statement> m_insertChunk;  ///< these four are set once created
    std::optional<Statement> m_insertCollective;
    std::optional<Statement> m_insertMemoryState;
    std::optional<Statement> m_insertLane;
    std::int64_t m_lastChunk = 0;
    std::map<RankId, MemoryTally> m_memory;
    std::map<RankId, std::uint32_t> m_memoryLanes;  ///< bit a category declared so far
    EventCounts m_events;
    Timestamp m_newest;
    std::map<RankId, Thinned> m_thinned;
};

}  // namespace shardscope::storage
