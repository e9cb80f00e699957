// A running device tracer, as the worker sees it. Vendor-free interface.
#pragma once

#include "profiler/capture/device_annotation.h"
#include "profiler/capture/device_sink.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace shardscope::collectors {

class DeviceCollector {
public:
    /// Synchronises nothing: the device is idle by then. Drains what is left into the sink.
    virtual ~DeviceCollector() = default;

    /// Takes effect for launches from now on; step thread. Not above the level of the start. To
    /// lower it the device must be idle: what is switched off while a kernel runs has the end of
    /// that kernel at the time it is switched on again.
    virtual void setLevel(capture::DeviceLevel level) = 0;
    /// Whether it is time to fetch what the device has finished, a few times a second at most; step
    /// thread.
    [[nodiscard]] virtual bool wantsIdle() const = 0;
    /// Nothing runs and nothing is queued at this moment; step thread. The one time at which a
    /// tracer hands on all that the device has finished: it keeps buffers back in which something
    /// still runs. Does nothing when it is not time.
    virtual void deviceIdle() = 0;
    /// Fetches what the device has finished; any thread. `everything`: incomplete records too;
    /// after a device synchronisation, or when there is nothing to lose. False: it is not done
    /// after `atMost`, then a broken device holds the tracer, and the collector cannot be ended
    /// either.
    virtual bool flush(bool everything,
                       std::chrono::milliseconds atMost = std::chrono::hours(24)) = 0;
    [[nodiscard]] virtual capture::DeviceCounts counts() const = 0;
    [[nodiscard]] virtual const capture::DeviceAnnotator& annotator() const = 0;
};

/// Either a collector, or why there is none: the run goes on without kernels and says so.
struct DeviceCollectorStart {
    std::unique_ptr<DeviceCollector> collector;
    std::optional<Diagnostic> diagnostic;
};

}  // namespace shardscope::collectors
