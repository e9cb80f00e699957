#include "engine/control/device_clock.h"

#include "engine/control/observer.h"

#include <algorithm>

namespace shardscope::control {
namespace {

constexpr std::int64_t kLifetimeNs = 1'000'000'000;
constexpr int kTries = 5;

}  // namespace

DeviceClock::DeviceClock(DeviceRuntime& runtime, std::int64_t (*now)())
    : m_runtime(runtime), m_now(now), m_stream(runtime.createStream(true)) {
    m_current.event = runtime.createEvent();
    m_next.event = runtime.createEvent();
    measure(m_current);
    m_widestNs = m_current.errorNs;
}

DeviceClock::~DeviceClock() {
    m_runtime.destroy(m_current.event);
    m_runtime.destroy(m_next.event);
}

/// The tightest of a few brackets: the others were disturbed.
void DeviceClock::measure(Reference& reference) {
    DeviceEvent spare = m_runtime.createEvent();
    for (int i = 0; i < kTries; ++i) {
        const std::int64_t before = m_now();
        m_runtime.record(spare, m_stream);
        m_runtime.synchronize(spare);
        const std::int64_t after = m_now();
        if (i > 0 && (after - before) / 2 >= reference.errorNs) continue;
        reference.hostNs = before + (after - before) / 2;
        reference.errorNs = (after - before) / 2;
        std::swap(spare, reference.event);
    }
    m_runtime.destroy(spare);
}

void DeviceClock::refresh() {
    const MutexLock lock(m_mutex);
    if (m_now() - m_current.hostNs < kLifetimeNs) return;
    measure(m_next);
    std::swap(m_current, m_next);
    m_widestNs = std::max(m_widestNs, m_current.errorNs);
}

std::int64_t DeviceClock::hostNs(DeviceEvent event) const {
    const MutexLock lock(m_mutex);
    return m_current.hostNs + m_runtime.elapsedNs(m_current.event, event);
}

std::pair<std::int64_t, std::int64_t> DeviceClock::hostNs(DeviceEvent begin,
                                                          DeviceEvent end) const {
    const MutexLock lock(m_mutex);
    return {m_current.hostNs + m_runtime.elapsedNs(m_current.event, begin),
            m_current.hostNs + m_runtime.elapsedNs(m_current.event, end)};
}

std::int64_t DeviceClock::errorNs() const {
    const MutexLock lock(m_mutex);
    return m_widestNs;
}

}  // namespace shardscope::control
