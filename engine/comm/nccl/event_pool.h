// Device events for reuse: creating one is a driver call.
#pragma once

#include "engine/control/device_runtime.h"
#include "storage/model/mutex.h"

#include <vector>

namespace shardscope::comm {

/// Events that operations take in turn. Outlives the communicator while Works do.
class EventPool {
public:
    explicit EventPool(control::DeviceRuntime& runtime) : m_runtime(runtime) {}
    ~EventPool() {
        for (control::DeviceEvent event : m_free) m_runtime.destroy(event);
    }
    EventPool(const EventPool&) = delete;
    EventPool& operator=(const EventPool&) = delete;

    control::DeviceEvent take() {
        const MutexLock lock(m_mutex);
        if (m_free.empty()) return m_runtime.createEvent();
        const control::DeviceEvent event = m_free.back();
        m_free.pop_back();
        return event;
    }
    void give(control::DeviceEvent event) {
        const MutexLock lock(m_mutex);
        m_free.push_back(event);
    }
    control::DeviceRuntime& runtime() { return m_runtime; }

private:
    control::DeviceRuntime& m_runtime;
    Mutex m_mutex;
    std::vector<control::DeviceEvent> m_free SHARDSCOPE_GUARDED_BY(m_mutex);
};

}  // namespace shardscope::comm
