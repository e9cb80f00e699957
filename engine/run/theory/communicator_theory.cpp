#include "engine/run/theory/communicator_theory.h"

#include "engine/run/config/rank_layout.h"
#include "engine/run/theory/theory.h"
#include "engine/run/theory/working_sizes.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace shardscope::theory {
namespace {

/// Some of a run's ranks, as rails see them (engine/comm/host_levels.h).
struct Group {
    std::int64_t hosts = 1;
    std::int64_t perHost = 1;
    [[nodiscard]] std::int64_t ranks() const { return hosts * perHost; }
};

/// `count` ranks from `first` on, each `step` behind the one before, of hosts of `perHost` ranks.
/// Lying unevenly, they are hosts of one rank each.
Group groupOf(std::int64_t first, std::int64_t step, std::int64_t count, std::int64_t perHost) {
    std::vector<std::int64_t> members;  // of each host that has some
    std::int64_t host = -1;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t rank = first + i * step;
        if (rank / perHost != host) members.push_back(0);
        host = rank / perHost;
        ++members.back();
    }
    const bool even = std::all_of(members.begin(), members.end(),
                                  [&](std::int64_t each) { return each == members.front(); });
    if (!even) return {count, 1};
    return {static_cast<std::int64_t>(members.size()), members.front()};
}

/// What a ring of `ranks` sums `elements` in (engine/comm/ring_communicator.h): in fp32 the part
/// that comes in and, if it is passed on, the one that goes out; narrower, a row of every rank.
std::int64_t ringBytes(std::int64_t elements, std::int64_t each, std::int64_t ranks) {
    if (ranks == 1) return 0;
    if (each != kFloatBytes) return each * elements;
    return kFloatBytes * ((elements + ranks - 1) / ranks) * (ranks > 2 ? 2 : 1);
}

std::int64_t railBytes(const Group& group, std::int64_t summed, bool gathers) {
    const std::int64_t part = (summed + group.ranks() - 1) / group.ranks();
    return railSumBytes(group.hosts, part) +
           (gathers ? railStagingBytes(group.hosts, group.perHost) : 0);
}

/// What a communicator over some of the ranks sums, and whether it gathers.
struct Rows {
    std::int64_t summed = 0;
    bool gathers = false;
};

/// Of the rank that holds most: groups of `near` neighbours that begin in the midst of a host may
/// lie unevenly, and so may those of the ranks at the same place of such groups.
std::int64_t railBytes(std::int64_t ranks, std::int64_t perHost, std::int64_t near,
                       const Rows& inside, const Rows& across) {
    const std::int64_t groups = ranks / near;
    std::int64_t most = 0, mostAcross = 0;
    for (std::int64_t g = 0; g < groups; ++g)
        most = std::max(
            most, railBytes(groupOf(g * near, 1, near, perHost), inside.summed, inside.gathers));
    for (std::int64_t place = 0; place < near && groups > 1; ++place)
        mostAcross = std::max(mostAcross, railBytes(groupOf(place, near, groups, perHost),
                                                    across.summed, across.gathers));
    return most + mostAcross;
}

std::int64_t railBytes(const run::RunConfig& config, std::int64_t perHost,
                       const LargestRows& rows) {
    const Rows state{rows.summed, rows.gathers};
    if (config.tensor > 1)
        return railBytes(config.ranks, perHost, config.tensor, {rows.exchanged, config.sequence},
                         state);
    return railBytes(config.ranks, perHost, shardRanks(config), state, {rows.across, false});
}

}  // namespace

std::int64_t communicatorBytes(const run::RunConfig& config, const LargestRows& rows) {
    if (config.device != run::Device::kCpu || config.ranks == 1) return 0;
    const run::RankPlaces places = run::placesOf(config);
    const bool messages = config.transport == run::Transport::kGloo;
    if (places.onOneHost() && !messages) return 0;
    if (!messages && places.even() && places.ranksOf(0) > 1)
        return railBytes(config, places.ranksOf(0), rows);
    const std::int64_t shard = shardRanks(config);
    return ringBytes(rows.summed, rows.summedEach, shard) +
           ringBytes(rows.across, kFloatBytes, run::replicasOf(config) / shard) +
           ringBytes(rows.exchanged, rows.exchangedEach, config.tensor);
}

std::int64_t modelledNs(const LinkModel& link, CollectiveOp operation, int ranks,
                        std::int64_t bytes) {
    if (ranks < 2) return 0;
    const double hops = ranks - 1;
    const double all = static_cast<double>(bytes) / link.bytesPerSecond;
    const double round = hops * link.latencySeconds + hops / ranks * all;
    double seconds = round;
    switch (operation) {
        case CollectiveOp::kAllGather:
        case CollectiveOp::kReduceScatter:
        case CollectiveOp::kAllToAll:
            break;
        case CollectiveOp::kAllReduce:
        case CollectiveOp::kBarrier:
            seconds = 2 * round;
            break;
        case CollectiveOp::kBroadcast:
            seconds = hops * link.latencySeconds + all;
            break;
        case CollectiveOp::kSend:
        case CollectiveOp::kReceive:
            seconds = link.latencySeconds + all;
            break;
    }
    // Over a link that is next to none no sum of many overflows.
    constexpr double kLongestSeconds = 1e6;
    return std::llround(std::min(seconds, kLongestSeconds) * 1e9);
}

}  // namespace shardscope::theory
