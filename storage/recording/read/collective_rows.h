// Collectives as they stand in their table. Part of the reader; one thread.
#pragma once

#include "storage/model/events.h"
#include "storage/recording/read/peer_arrivals.h"
#include "storage/sqlite/connection.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace shardscope::storage {

class CollectiveRows {
public:
    /// Those of one rank that intersect `range`, by group and sequence; of arrivals also what the
    /// rows of its peers tell.
    Result<std::vector<CollectiveEvent>> read(Connection& connection, RankId rank, TimeRange range);
    /// The recording may have grown.
    void forget();

private:
    /// Neighbours by key: rows have no index by time, and who looks at a range again and again
    /// cannot go through all of them.
    struct Block {
        std::int64_t group = 0, first = 0, last = 0;  ///< sequences, both in it
        Timestamp begin, end;                         ///< of all of them together
        std::size_t rows = 0;
    };
    struct Rank {
        bool wasRead = false, hasBlocks = false;
        std::vector<Block> blocks;  ///< by group and sequence
    };

    static Result<void> readBlocks(Connection& connection, RankId rank, Rank& known);
    static Result<void> readSome(Connection& connection, RankId rank, TimeRange range,
                                 const Rank& known, std::vector<CollectiveEvent>& events);

    std::unordered_map<RankId, Rank> m_ranks;
    PeerArrivals m_peers;
};

}  // namespace shardscope::storage
