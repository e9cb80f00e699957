// Takes detail out of a recording that is being written: chunks, rows of collectives, and what
// pyramids sum up of them. Within the open transaction. Part of the writer.
#pragma once

#include "storage/model/ids.h"
#include "storage/model/result.h"
#include "storage/model/units.h"
#include "storage/recording/write/chunk_writer.h"
#include "storage/sqlite/connection.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace shardscope::storage {

/// A row of `chunks` without its data.
struct StoredChunk {
    std::int64_t id = 0;
    EventKind kind = EventKind::kSpan;
    RankId rank;
    LaneId lane;
    Timestamp first, last;
    std::int64_t count = 0, bytes = 0;
    bool fullOnly = false;  ///< only the level full holds it
};
[[nodiscard]] Result<std::vector<StoredChunk>> listStoredChunks(Connection& connection);

/// What goes: of every rank, what started before a time.
struct ThinPlan {
    CaptureLevel left = CaptureLevel::kSteps;  ///< light: only what full holds beyond it goes
    StepIndex through;                         ///< last step that loses something
    std::map<RankId, Timestamp> until;
};

class DetailRemover {
public:
    /// Both must outlive it.
    DetailRemover(Connection& connection, ChunkWriter& chunks)
        : m_connection(&connection), m_chunks(&chunks) {}

    struct Removed {
        std::uint64_t events = 0;
        std::optional<MemoryPeak> peak;  ///< of memory events that went, after calibration
    };
    /// One rank's part of the plan. Blocks that are alive at its end stay: their allocations move
    /// there.
    Result<Removed> remove(RankId rank, const std::vector<StoredChunk>& chunks,
                           const ThinPlan& plan);

private:
    Result<std::uint64_t> takeOut(const StoredChunk& chunk, Timestamp until);
    template <class Event>
    Result<std::uint64_t> trim(const StoredChunk& chunk, Timestamp until);
    Result<Removed> takeOutMemory(RankId rank, const std::vector<const StoredChunk*>& chunks,
                                  Timestamp until);
    struct MemoryCut;
    Result<MemoryCut> cutMemory(RankId rank, const std::vector<const StoredChunk*>& chunks,
                                Timestamp until);
    Result<void> putMemory(RankId rank, const std::vector<const StoredChunk*>& chunks,
                           const MemoryCut& cut);
    Result<void> storeMemory(std::int64_t id, RankId rank, const std::vector<MemoryEvent>& events,
                             const MemoryTally::ByCategory& before);
    enum class Lanes { kFullOnly, kMemory, kOthers };
    Result<void> trimPyramids(RankId rank, Timestamp until, Lanes which);
    Result<Timestamp> calibrated(RankId rank);
    Result<std::vector<std::byte>> data(std::int64_t chunk);
    Result<void> erase(std::int64_t chunk);
    Result<void> replace(std::int64_t chunk, const columns::ChunkBytes& bytes);

    Connection* m_connection;
    ChunkWriter* m_chunks;
    std::map<RankId, Timestamp> m_calibrated;  ///< end of what measured the peak
};

// Takes rows of collectives out of a recording that is being written. Part of the writer.

/// Those of a rank that were issued before `until`; how many they were. Within the open
/// transaction.
[[nodiscard]] Result<std::uint64_t> removeCollectives(Connection& connection, RankId rank,
                                                      Timestamp until);

}  // namespace shardscope::storage
