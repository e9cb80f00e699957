#include "profiler/collectors/cupti/graph_nodes.h"

namespace shardscope::collectors::cupti {

void GraphNodes::add(std::uint64_t node, const CapturedLaunch& launch) {
    const MutexLock lock(m_mutex);
    m_launches[node] = launch;
}

void GraphNodes::clone(std::uint64_t original, std::uint64_t node) {
    const MutexLock lock(m_mutex);
    const CapturedLaunch* found = m_launches.find(original);
    if (found == nullptr) return;
    const CapturedLaunch launch = *found;
    m_launches[node] = launch;
}

std::optional<CapturedLaunch> GraphNodes::find(std::uint64_t node) const {
    const MutexLock lock(m_mutex);
    const CapturedLaunch* found = m_launches.find(node);
    return found == nullptr ? std::nullopt : std::optional(*found);
}

}  // namespace shardscope::collectors::cupti
