#include "storage/recording/write/memory_balance.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace shardscope::storage {

void MemoryBalance::apply(const MemoryEvent& event) {
    const auto at = m_alive.find(event.address);
    if (event.action == MemoryAction::kAllocate) {
        if (at == m_alive.end()) {
            m_alive.emplace(event.address, event);
            return;
        }
        // The free between the two was lost.
        const MemoryEvent before = std::exchange(at->second, event);
        m_unmatched[static_cast<std::size_t>(before.category)] += before.size.count;
        return;
    }
    const bool match = at != m_alive.end() && at->second.size == event.size &&
                       at->second.category == event.category;
    if (match)
        m_alive.erase(at);
    else
        m_unmatched[static_cast<std::size_t>(event.category)] -= event.size.count;
}

std::vector<MemoryEvent> MemoryBalance::at(Timestamp time) const {
    std::vector<MemoryEvent> left;
    for (const auto& [address, event] : m_alive) left.push_back(event);
    std::sort(left.begin(), left.end(), [](const MemoryEvent& a, const MemoryEvent& b) {
        return a.time != b.time ? a.time < b.time : a.address < b.address;
    });
    for (std::size_t i = 0; i < m_unmatched.size(); ++i) {
        if (m_unmatched[i] == 0) continue;
        MemoryEvent sum;
        sum.address = i + 1;
        sum.size = {std::abs(m_unmatched[i])};
        sum.action = m_unmatched[i] > 0 ? MemoryAction::kAllocate : MemoryAction::kFree;
        sum.category = static_cast<MemoryCategory>(i);
        left.push_back(sum);
    }
    for (MemoryEvent& event : left) event.time = time;
    return left;
}

std::vector<MemoryEvent> MemoryBalance::changesTo(const MemoryBalance& later,
                                                  Timestamp time) const {
    std::vector<MemoryEvent> frees, allocations;
    for (const auto& [address, event] : m_alive) {
        const auto at = later.m_alive.find(address);
        if (at != later.m_alive.end() && at->second == event) continue;
        frees.push_back(event);
        frees.back().action = MemoryAction::kFree;
    }
    for (const auto& [address, event] : later.m_alive) {
        const auto at = m_alive.find(address);
        if (at == m_alive.end() || at->second != event) allocations.push_back(event);
    }
    const auto earlier = [](const MemoryEvent& a, const MemoryEvent& b) {
        return a.time != b.time ? a.time < b.time : a.address < b.address;
    };
    std::sort(frees.begin(), frees.end(), earlier);
    std::sort(allocations.begin(), allocations.end(), earlier);
    frees.insert(frees.end(), allocations.begin(), allocations.end());
    for (MemoryEvent& event : frees) event.time = time;
    return frees;
}

}  // namespace shardscope::storage
