#include "storage/interchange/kineto/flow_ends.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace shardscope::interchange::kineto {
namespace {

/// Of a row of the trace and a correlation; 64 bits are enough for two never to meet by chance.
std::uint64_t endOf(std::string_view process, std::string_view thread, std::uint64_t correlation) {
    std::uint64_t x = std::hash<std::string_view>{}(process)*31 +
                      std::hash<std::string_view>{}(thread) + correlation * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return x == 0 ? 1 : x;
}

}  // namespace

bool FlowEnds::contains(std::uint64_t end) const {
    if (m_ends.empty()) return false;
    const std::size_t mask = m_ends.size() - 1;
    for (std::size_t at = end & mask; m_ends[at] != 0; at = (at + 1) & mask)
        if (m_ends[at] == end) return true;
    return false;
}

void FlowEnds::insert(std::uint64_t end) {
    const std::size_t mask = m_ends.size() - 1;
    std::size_t at = end & mask;
    while (m_ends[at] != 0) at = (at + 1) & mask;
    m_ends[at] = end;
    ++m_count;
}

void FlowEnds::addEvent(std::string_view process, std::string_view thread,
                        std::uint64_t correlation) {
    const std::uint64_t end = endOf(process, thread, correlation);
    if (contains(end)) return;
    if (2 * m_count >= m_ends.size()) {
        const auto before = std::exchange(
            m_ends, std::vector<std::uint64_t>(std::max<std::size_t>(1024, 2 * m_ends.size())));
        m_count = 0;
        for (const std::uint64_t each : before)
            if (each != 0) insert(each);
    }
    insert(end);
}

bool FlowEnds::hasEvent(std::string_view process, std::string_view thread,
                        std::uint64_t correlation) const {
    return contains(endOf(process, thread, correlation));
}

void FlowEnds::wait(std::string_view process, std::string_view thread, std::uint64_t correlation,
                    std::string_view text) {
    m_waiting.push_back({endOf(process, thread, correlation), std::string(text)});
}

void FlowEnds::sweep() {
    std::erase_if(m_waiting, [this](const Waiting& flow) { return contains(flow.end); });
    m_sweepAt = std::max<std::size_t>(65'536, 2 * m_waiting.size());
}

std::vector<FlowEnds::Waiting> FlowEnds::takeUnbound() {
    sweep();
    return std::exchange(m_waiting, {});
}

}  // namespace shardscope::interchange::kineto
