// What collectives tell of hosts' clocks (host_clocks.h), of ranks that are added one at a time: of
// each collective on each host when it was left first and entered last. Internal to
// profiler/analysis.
#pragma once

#include "profiler/analysis/host_clocks.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace shardscope::analysis {

class HostPassages {
public:
    explicit HostPassages(const RecordingSummary& summary) : m_hosts(summary, {}) {}
    void add(const RankEvents& events);
    /// Of a run on several hosts whose clocks were compared.
    [[nodiscard]] bool several() const { return m_hosts.several(); }
    /// HostClocks of all ranks that were added.
    [[nodiscard]] HostClocks clocks(const RecordingSummary& summary) const;

private:
    using Key = std::tuple<std::uint32_t, std::uint64_t, CollectiveOp>;  ///< group, sequence
    struct Host {
        RankId rank;                        ///< one of its ranks
        std::map<Key, TimeRange> passages;  ///< last arrival, first end
    };
    const HostClocks m_hosts;
    std::map<std::int32_t, Host> m_passages;
};

}  // namespace shardscope::analysis
