// Which chunks hold events of a lane and time: read once, then only what was added. Copies share
// what they have in common.
#pragma once

#include "storage/columns/pyramid.h"
#include "storage/model/recording.h"
#include "storage/model/shared_rows.h"
#include "storage/sqlite/connection.h"

#include <map>
#include <tuple>
#include <vector>

namespace shardscope::storage {

struct ChunkEntry {
    std::int64_t id = 0;
    Timestamp first;
    Timestamp last;
    std::uint32_t count = 0;
};

class ChunkDirectory {
public:
    Result<void> refresh(Connection& connection);

    /// Chunks of a lane, oldest first. Memory chunks have no lane: pass LaneId{}.
    [[nodiscard]] const std::vector<ChunkEntry>& chunks(EventKind kind, RankId rank,
                                                        LaneId lane) const;
    /// Every lane's chunks of one kind and rank.
    struct Lane {
        EventKind kind;
        RankId rank;
        LaneId lane;
        const std::vector<ChunkEntry>* chunks;
    };
    [[nodiscard]] std::vector<Lane> lanes() const;

    [[nodiscard]] const EventCounts& counts() const { return m_counts; }
    [[nodiscard]] Bytes bytes() const { return m_bytes; }
    [[nodiscard]] TimeRange bounds() const { return m_bounds; }

private:
    using Key = std::tuple<EventKind, RankId, LaneId>;
    std::map<Key, SharedRows<ChunkEntry>> m_lanes;
    std::int64_t m_lastId = 0;
    EventCounts m_counts;  ///< without collectives, which are rows
    Bytes m_bytes;
    TimeRange m_bounds;
};

// Pyramid segments as rows.

/// One stored segment; empty when there is none.
template <class Summary>
Result<std::vector<Summary>> loadSegment(Connection& connection, RankId rank, LaneId lane,
                                         int level, std::int64_t segment);

/// A row of the table `pyramid` but for its summaries.
struct SegmentEntry {
    std::int64_t id = 0;
    int level = 0;
    std::int64_t segment = 0;
    std::int64_t throughChunk = 0;  ///< last chunk that is in it
};

/// All segments of a lane, by level and segment.
Result<std::vector<SegmentEntry>> listSegments(Statement& select, RankId rank, LaneId lane);
/// The statement for it.
Result<Statement> prepareListSegments(Connection& connection);

template <class Summary>
Result<std::vector<Summary>> decodeSummaries(std::span<const std::byte> blob);

}  // namespace shardscope::storage
