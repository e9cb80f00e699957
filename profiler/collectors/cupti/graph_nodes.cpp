#include "profiler/collectors/cupti/graph_nodes.h"

namespace shardscope::collectors::cupti {

void GraphNodes::add(std::uint64_t node, const CapturedLaunch& launch) {
    const MutexLock lock(m_mutex);
    if (m_launches.size() < kMostNodes) m_launches[node] = launch;
}

void GraphNodes::clone(std::uint64_t original, std::uint64_t node) {
    const MutexLock lock(m_mutex);
    const auto found = m_launches.find(original);
    if (found == m_launches.end() || m_launches.size() >= kMostNodes) return;
    const CapturedLaunch launch = found->second;
    m_launches[node] = launch;
}

std::optional<CapturedLaunch> GraphNodes::find(std::uint64_t node) const {
    const MutexLock lock(m_mutex);
    const auto found = m_launches.find(node);
    if (found == m_launches.end()) return std::nullopt;
    return found->second;
}

}  // namespace shardscope::collectors::cupti
