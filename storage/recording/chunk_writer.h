// Stores event chunks, one lane a chunk, and what is derived from them. Part of the writer.
#pragma once

#include "storage/columns/chunk.h"
#include "storage/recording/memory_tally.h"
#include "storage/sqlite/connection.h"

#include <map>
#include <optional>
#include <span>
#include <vector>

namespace shardscope::storage {

class ChunkWriter {
public:
    static Result<ChunkWriter> create(Connection& connection);

    Result<void> addSpans(RankId rank, std::span<const std::byte> chunk);
    Result<void> addCounters(RankId rank, std::span<const std::byte> chunk);
    Result<void> addMemory(RankId rank, std::span<const std::byte> chunk);
    Result<void> addCollectives(RankId rank, std::span<const std::byte> chunk);

    [[nodiscard]] const EventCounts& events() const { return m_events; }

private:
    ChunkWriter(Connection& connection, Statement chunk, Statement collective, Statement memory,
                Statement lane)
        : m_connection(&connection),
          m_insertChunk(std::move(chunk)),
          m_insertCollective(std::move(collective)),
          m_insertMemoryState(std::move(memory)),
          m_insertLane(std::move(lane)) {}

    Result<void> insert(const columns::ChunkHeader& header, std::optional<LaneId> lane,
                        std::span<const std::byte> bytes);
    Result<void> insertCollective(RankId rank, const CollectiveEvent& event);
    Result<void> insertMemoryState(const MemoryTally::ByCategory& before, const MemoryTally& after);
    Result<void> declareMemoryLanes(RankId rank, const std::vector<MemoryEvent>& events);

    Connection* m_connection;
    Statement m_insertChunk;
    Statement m_insertCollective;
    Statement m_insertMemoryState;
    Statement m_insertLane;
    std::map<RankId, MemoryTally> m_memory;
    std::map<RankId, std::uint32_t> m_memoryLanes;  ///< bit a category declared so far
    EventCounts m_events;
};

}  // namespace shardscope::storage
