// Puts device events on the host's clock, for spans and collectives that no tracer times.
//
// A reference event on an idle stream is bracketed by two readings of the host clock; other
// events lie at their elapsed time from it. CUDA gives elapsed times as float milliseconds, so
// the reference is renewed every second or so: 0.5 us holds for about 8 s around it.
#pragma once

#include "engine/control/device_runtime.h"
#include "storage/model/host_clock.h"
#include "storage/model/mutex.h"

#include <cstdint>
#include <utility>

namespace shardscope::control {

class DeviceClock {
public:
    /// Takes the first reference; `runtime` outlives the clock. `now`: the host's clock.
    explicit DeviceClock(DeviceRuntime& runtime, std::int64_t (*now)() = &hostNow);
    ~DeviceClock();
    DeviceClock(const DeviceClock&) = delete;
    DeviceClock& operator=(const DeviceClock&) = delete;

    /// Takes a new reference when the last is older than a second. A few tens of microseconds of
    /// the caller's time; the device is not held up. Any thread.
    void refresh();

    /// Host clock (hostNow()) at which the device passed `event`, which was reached.
    [[nodiscard]] std::int64_t hostNs(DeviceEvent event) const;

    /// Of two events, by the same reference: what lies between them is exact to the device's clock.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> hostNs(DeviceEvent begin,
                                                               DeviceEvent end) const;

    /// How far hostNs() may have been off: half the bracket of the widest reference so far.
    [[nodiscard]] std::int64_t errorNs() const;

private:
    struct Reference {
        DeviceEvent event;
        std::int64_t hostNs = 0;
        std::int64_t errorNs = 0;
    };
    void measure(Reference& reference);

    DeviceRuntime& m_runtime;
    std::int64_t (*const m_now)();
    const DeviceStream m_stream;  ///< nothing else runs there
    mutable Mutex m_mutex;
    Reference m_current SHARDSCOPE_GUARDED_BY(m_mutex);
    Reference m_next SHARDSCOPE_GUARDED_BY(m_mutex);
    std::int64_t m_widestNs SHARDSCOPE_GUARDED_BY(m_mutex) = 0;
};

}  // namespace shardscope::control
