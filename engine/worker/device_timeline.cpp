#include "engine/worker/device_timeline.h"

namespace shardscope::worker {

DeviceTimeline::~DeviceTimeline() {
    for (const control::DeviceEvent event : m_free) m_runtime.destroy(event);
}

control::DeviceEvent DeviceTimeline::take() {
    {
        const MutexLock lock(m_mutex);
        if (!m_free.empty()) {
            const control::DeviceEvent event = m_free.back();
            m_free.pop_back();
            return event;
        }
    }
    return m_runtime.createEvent();
}

control::DeviceEvent DeviceTimeline::mark() {
    const control::DeviceEvent event = take();
    m_runtime.record(event, m_runtime.currentStream());
    return event;
}

control::DeviceEvent DeviceTimeline::markInGraph() {
    const control::DeviceEvent event = take();
    m_runtime.recordInGraph(event, m_runtime.currentStream());
    return event;
}

void DeviceTimeline::release(control::DeviceEvent mark) {
    const MutexLock lock(m_mutex);
    m_free.push_back(mark);
}

}  // namespace shardscope::worker
