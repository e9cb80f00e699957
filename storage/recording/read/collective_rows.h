// Collectives as they stand in their table. Part of the reader; one thread.
#pragma once

#include "storage/model/collective_key.h"
#include "storage/sqlite/connection.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace shardscope::storage {

// When the ranks of a group came to its collectives, as their own rows tell.
//
// Over NCCL, and across hosts, a rank does not see its peers arrive. What is read for one rank is
// kept for the others: all of them share one list of each collective. Part of the reader; one
// thread.

class PeerArrivals {
public:
    /// Fills in those of one rank that have none, where every rank of the group has a row.
    Result<void> fill(Connection& connection, std::span<CollectiveEvent> events);
    /// The recording may have grown.
    void forget() { m_groups.clear(); }

private:
    struct Sequences {
        std::uint64_t first = 0, last = 0;
    };
    /// Of collectives, ascending; columns, since a long run has millions.
    struct Times {
        std::vector<std::uint64_t> sequences;
        std::vector<std::size_t> seen;  ///< by how many members
        std::vector<Timestamp> all;     ///< of each as many as there are members
    };
    struct Stretch {
        std::vector<std::uint64_t> sequences;
        std::shared_ptr<const Timestamp[]> times;  ///< of each as many as there are members
    };
    struct Group {
        std::vector<std::int64_t> members;  ///< fewer than two: nothing is known
        Sequences read;
        std::map<std::uint64_t, Stretch> known;  ///< by its first sequence or one before
        void add(Times times);
        [[nodiscard]] Arrivals of(std::uint64_t sequence) const;
    };

    Result<Group*> groupOf(Connection& connection, std::uint32_t group, Sequences wanted);
    static Result<void> extend(Connection& connection, std::uint32_t number, Group& group,
                               Sequences wanted);
    static Result<void> read(Connection& connection, std::uint32_t number, Group& group,
                             Sequences wanted);
    static Result<void> readMember(Statement& select, std::uint32_t number, const Group& group,
                                   std::size_t place, Sequences wanted, Times& times);

    std::map<std::uint32_t, Group> m_groups;
};

class CollectiveRows {
public:
    /// Those of one rank that intersect `range`, by group and sequence; of arrivals also what the
    /// rows of its peers tell.
    Result<std::vector<CollectiveEvent>> read(Connection& connection, RankId rank, TimeRange range);
    /// Those of one rank, by group and sequence, likewise. Each is looked for by its key.
    static Result<std::vector<CollectiveEvent>> find(Connection& connection, RankId rank,
                                                     std::vector<CollectiveKey> keys);
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
