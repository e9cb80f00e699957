// Which chunks hold events of a lane and time: read once, then only what was added.
#pragma once

#include "storage/model/recording.h"
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
    std::map<Key, std::vector<ChunkEntry>> m_lanes;
    std::int64_t m_lastId = 0;
    EventCounts m_counts;  ///< without collectives, which are rows
    Bytes m_bytes;
    TimeRange m_bounds;
};

}  // namespace shardscope::storage
