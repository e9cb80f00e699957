// The hosts of a run as people write them.
//
// A host file has a line for each host, with what is set for it, and `#` starts a comment:
//
//   node-a slots=4
//   me@node-b slots=2 devices=0,3 interface=eth1 folder=/scratch/me data=/data/corpus
//   node-c slots=4 NCCL_DEBUG=INFO      # a variable of its ranks' environment
//
// The same on one line with `;` between hosts, or names alone: `node-a:4,node-b:2`. DeepSpeed's and
// Open MPI's host files are such files; of theirs `max_slots` is passed over.
#pragma once

#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::run {

/// Which ranks of a run are on which of its hosts. Ranks of a host follow each other, and hosts are
/// numbered from 0 in the order in which they were named.
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
    std::string key;  ///< that they prove to each other, in hexadecimal: drawn for this run
    friend bool operator==(const MeetingPoint&, const MeetingPoint&) = default;
};

struct HostConfig {
    std::string name;                   ///< [user@]name as ssh takes it
    std::int32_t slots = 0;             ///< ranks that it takes at most; 0: not said
    std::vector<std::int32_t> devices;  ///< GPUs that its ranks use; empty: all
    std::string interface;              ///< of its ranks' connections; empty: towards the others
    std::string folder;                 ///< base of what is put there; empty: its cache folder
    std::string data;                   ///< what the run's data is called there; empty: the same
    std::map<std::string, std::string> environment;  ///< of its ranks

    /// Whether ranks on other hosts may be given a variable of this name; the list is short since
    /// what they are given is recorded.
    [[nodiscard]] static bool mayPass(std::string_view variable);
    /// This machine, which is not reached through ssh.
    [[nodiscard]] bool isLocal() const { return name == "localhost"; }
    friend bool operator==(const HostConfig&, const HostConfig&) = default;
};

/// The text is the path of a host file, which no host's name can be.
[[nodiscard]] inline bool isHostFile(std::string_view text) {
    return text.find('/') != text.npos && text.find_first_of("=;,\n") == text.npos;
}
/// kUsage with a sentence: a host that is named twice, a word that is not understood or given
/// twice, ... No hosts in an empty text. A byte order mark before it is passed over.
[[nodiscard]] Result<std::vector<HostConfig>> parseHosts(std::string_view text);
/// parseHosts() gives the same hosts again; on one line.
[[nodiscard]] std::string toText(const std::vector<HostConfig>& hosts);

/// DeepSpeed's `--include a@b:0,2`: these hosts, of b only slots 0 and 2. Slots are GPUs.
[[nodiscard]] Result<std::vector<HostConfig>> included(const std::vector<HostConfig>& hosts,
                                                       std::string_view wanted);
/// `--exclude a@b:1`: all but host a and slot 1 of b.
[[nodiscard]] Result<std::vector<HostConfig>> excluded(const std::vector<HostConfig>& hosts,
                                                       std::string_view unwanted);

/// How many ranks the hosts take: their slots, else their devices, else one each.
[[nodiscard]] std::int32_t slotsOf(const std::vector<HostConfig>& hosts);
/// Hosts that say how many they take are filled in order; else ranks are spread evenly. Hosts at
/// the end may get none and are not part of the places. kUsage when there are not enough slots.
[[nodiscard]] Result<RankPlaces> placeRanks(const std::vector<HostConfig>& hosts,
                                            std::int32_t ranks);

}  // namespace shardscope::run
