// When the ranks of a group came to its collectives, as their own rows tell.
//
// Over NCCL, and across hosts, a rank does not see its peers arrive. What is read for one rank is
// kept for the others: all of them share one list of each collective. Part of the reader; one
// thread.
#pragma once

#include "storage/model/events.h"
#include "storage/sqlite/connection.h"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace shardscope::storage {

class PeerArrivals {
public:
    /// Fills in those of one rank that have none, where every rank of the group has a row.
    Result<void> fill(Connection& connection, std::vector<CollectiveEvent>& events);
    /// The recording may have grown.
    void forget() { m_groups.clear(); }

private:
    struct Sequences {
        std::uint64_t first = 0, last = 0;
    };
    struct Group {
        std::vector<std::int64_t> members;  ///< fewer than two: nothing can be told
        Sequences read;
        std::unordered_map<std::uint64_t, Arrivals> known;  ///< by sequence
    };

    Result<Group*> groupOf(Connection& connection, std::uint32_t group, Sequences wanted);
    static Result<void> extend(Connection& connection, std::uint32_t number, Group& group,
                               Sequences wanted);
    static Result<void> read(Connection& connection, std::uint32_t number, Group& group,
                             Sequences wanted);

    std::map<std::uint32_t, Group> m_groups;
};

}  // namespace shardscope::storage
