#include "engine/worker/device_timeline.h"

namespace shardscope::worker {

DeviceTimeline::~DeviceTimeline() {
    for (const control::DeviceEvent event : m_free) m_runtime.destroy(event);
}

control::DeviceEvent DeviceTimeline::mark() {
    control::DeviceEvent event;
    {
        const MutexLock lock(m_mutex);
        if (!m_free.empty()) {
            event = m_free.back();
            m_free.pop_back();
        }
    }
    if (event.handle == nullptr) event = m_runtime.createEvent();
    m_runtime.record(event, m_runtime.currentStream());
    return event;
}

void DeviceTimeline::release(control::DeviceEvent mark) {
    const MutexLock lock(m_mutex);
    m_free.push_back(mark);
}

}  // namespace shardscope::worker
