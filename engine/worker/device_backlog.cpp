#include "engine/worker/device_backlog.h"

#include <algorithm>

namespace shardscope::worker {

void DeviceBacklog::add(const std::variant<EndedPhase, EndedStep>& what,
                        control::DeviceEvent begin) {
    const control::DeviceEvent end = m_timeline.mark();
    const MutexLock lock(m_mutex);
    m_marked.push_back({what, begin, end});
}

/// Stays where it is while more is added; null: there is none.
DeviceBacklog::Marked* DeviceBacklog::first() {
    const MutexLock lock(m_mutex);
    return m_marked.empty() ? nullptr : &m_marked.front();
}

void DeviceBacklog::dropFirst() {
    const MutexLock lock(m_mutex);
    m_marked.pop_front();
}

bool DeviceBacklog::passed(const Marked& marked, bool everything) {
    if (everything) m_timeline.await(marked.end);
    return m_timeline.passed(marked.end);
}

/// Replaces the host's times by the device's.
void DeviceBacklog::readMarks(Marked& marked) {
    const auto times = m_timeline.hostNs(marked.begin, marked.end);
    const std::int64_t startNs = times.first;
    const std::int64_t endNs = std::max(times.first, times.second);
    m_timeline.release(marked.begin);
    m_timeline.release(marked.end);
    std::visit(
        [&](auto& each) {
            each.report.startNs = startNs;
            each.report.endNs = endNs;
        },
        marked.what);
}

void DeviceBacklog::tellPassed(bool everything) {
    const MutexLock telling(m_telling);
    m_timeline.refresh();
    while (Marked* marked = first()) {
        if (!passed(*marked, everything)) return;
        readMarks(*marked);
        std::visit([this](const auto& each) { m_teller.tell(each); }, marked->what);
        dropFirst();
    }
}

}  // namespace shardscope::worker
