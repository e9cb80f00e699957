// Which ranks of a run are on which of its hosts. Ranks of a host follow each other, and hosts are
// numbered from 0 in the order in which they were named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::run {

struct RankPlaces {
    std::vector<std::int32_t> perHost;  ///< ranks of each host, 1 or more

    [[nodiscard]] static RankPlaces onOneHost(std::int32_t ranks) { return {{ranks}}; }

    [[nodiscard]] std::int32_t hosts() const { return static_cast<std::int32_t>(perHost.size()); }
    [[nodiscard]] bool onOneHost() const { return perHost.size() == 1; }
    [[nodiscard]] std::int32_t ranksOf(std::int32_t host) const {
        return perHost[static_cast<std::size_t>(host)];
    }
    [[nodiscard]] std::int32_t ranks() const { return firstOf(hosts()); }
    /// The lowest rank of the host; of `hosts()`: how many ranks there are.
    [[nodiscard]] std::int32_t firstOf(std::int32_t host) const {
        std::int32_t first = 0;
        for (std::int32_t i = 0; i < host; ++i) first += ranksOf(i);
        return first;
    }
    /// Of a rank of the run.
    [[nodiscard]] std::int32_t hostOf(std::int32_t rank) const {
        std::int32_t host = 0;
        for (std::int32_t end = ranksOf(0); rank >= end; end += ranksOf(host)) ++host;
        return host;
    }
    /// Its place among the ranks of its host, from 0.
    [[nodiscard]] std::int32_t localRank(std::int32_t rank) const {
        return rank - firstOf(hostOf(rank));
    }
    /// Every host has as many.
    [[nodiscard]] bool even() const {
        for (const std::int32_t ranks : perHost)
            if (ranks != perHost[0]) return false;
        return true;
    }

    friend bool operator==(const RankPlaces&, const RankPlaces&) = default;
};

/// Where ranks of several hosts meet over TCP: rank 0 listens there. Port 0: they share a host.
struct MeetingPoint {
    std::string address;
    std::int32_t port = 0;
    friend bool operator==(const MeetingPoint&, const MeetingPoint&) = default;
};

}  // namespace shardscope::run
