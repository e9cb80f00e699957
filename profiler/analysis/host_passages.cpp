#include "profiler/analysis/host_passages.h"

#include <algorithm>
#include <utility>

namespace shardscope::analysis {

void HostPassages::add(const RankEvents& events) {
    if (!several()) return;
    const auto [host, fresh] = m_passages.try_emplace(m_hosts.hostOf(events.rank));
    if (fresh) host->second.rank = events.rank;
    for (const CollectiveEvent& event : events.collectives) {
        const auto [passage, first] = host->second.passages.try_emplace(
            Key{event.group, event.sequence, event.operation}, TimeRange{event.start, event.end});
        if (first) continue;
        passage->second.begin = std::max(passage->second.begin, event.start);
        passage->second.end = std::min(passage->second.end, event.end);
    }
}

/// A host's ranks are as one that came last and left first.
HostClocks HostPassages::clocks(const RecordingSummary& summary) const {
    std::vector<RankEvents> hosts;
    for (const auto& [number, host] : m_passages) {
        RankEvents& events = hosts.emplace_back();
        events.rank = host.rank;
        events.collectives.reserve(host.passages.size());
        for (const auto& [key, range] : host.passages) {
            CollectiveEvent& event = events.collectives.emplace_back();
            std::tie(event.group, event.sequence, event.operation) = key;
            event.start = range.begin;
            event.end = range.end;
        }
    }
    return {summary, hosts};
}

}  // namespace shardscope::analysis
