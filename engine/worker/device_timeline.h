// When the device did what the step thread queued: a mark is an event on the compute stream.
//
// Marks are set on the step thread and looked up later on another; both only take events from a
// common pool. With a tracer or without one, phases and steps of a GPU rank are timed this way.
#pragma once

#include "engine/control/device_clock.h"
#include "engine/control/device_runtime.h"
#include "storage/model/mutex.h"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace shardscope::worker {

class DeviceTimeline {
public:
    /// Both outlive the timeline.
    DeviceTimeline(control::DeviceRuntime& runtime, control::DeviceClock& clock)
        : m_runtime(runtime), m_clock(clock) {}
    ~DeviceTimeline();
    DeviceTimeline(const DeviceTimeline&) = delete;
    DeviceTimeline& operator=(const DeviceTimeline&) = delete;

    /// The place in the current stream's work that is queued next.
    [[nodiscard]] control::DeviceEvent mark();
    /// The same in a graph that is being captured; each launch sets it anew. It is looked at after
    /// a mark behind the launch was passed.
    [[nodiscard]] control::DeviceEvent markInGraph();
    /// Whether the device has passed it. Throws control::DeviceError.
    [[nodiscard]] bool passed(control::DeviceEvent mark) { return m_runtime.reached(mark); }
    /// Blocks until it has.
    void await(control::DeviceEvent mark) { m_runtime.synchronize(mark); }
    /// Host clock at which the device passed it.
    [[nodiscard]] std::int64_t hostNs(control::DeviceEvent mark) const {
        return m_clock.hostNs(mark);
    }
    /// Of two marks, by the same reference of the clock.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> hostNs(control::DeviceEvent begin,
                                                               control::DeviceEvent end) const {
        return m_clock.hostNs(begin, end);
    }
    /// The mark is not looked up again.
    void release(control::DeviceEvent mark);
    /// Keeps the clock's reference fresh.
    void refresh() { m_clock.refresh(); }

private:
    [[nodiscard]] control::DeviceEvent take();

    control::DeviceRuntime& m_runtime;
    control::DeviceClock& m_clock;
    Mutex m_mutex;
    std::vector<control::DeviceEvent> m_free SHARDSCOPE_GUARDED_BY(m_mutex);
};

// How long the device works at something, whatever the host needs to queue it.

/// ns of the device for one `work`, which queues it; the mean of `times` in a row. They are queued
/// while the device is still at `other`, of which as many are queued as that takes: a small kernel
/// on an idle device lasts as long as the host needs for its launch, and several of them are no
/// faster. Step thread; waits for the device. Throws control::DeviceError.
[[nodiscard]] std::int64_t queuedNs(DeviceTimeline& timeline, const std::function<void()>& work,
                                    const std::function<void()>& other, int times = 10);

}  // namespace shardscope::worker
