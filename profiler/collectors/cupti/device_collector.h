// A running device tracer, as the worker sees it. Vendor-free interface.
#pragma once

#include "profiler/capture/device_annotation.h"
#include "profiler/capture/device_sink.h"

#include <memory>
#include <optional>
#include <string>

namespace shardscope::collectors {

class DeviceCollector {
public:
    /// Synchronises nothing: the device is idle by then. Drains what is left into the sink.
    virtual ~DeviceCollector() = default;

    /// Takes effect for launches from now on; step thread. Not above the level of the start.
    virtual void setLevel(capture::DeviceLevel level) = 0;
    /// Fetches what the device has finished; from any thread, a few times a second at most.
    /// `everything`: incomplete records too; only at the end, after a device synchronisation.
    virtual void flush(bool everything) = 0;
    [[nodiscard]] virtual capture::DeviceCounts counts() const = 0;
    [[nodiscard]] virtual const capture::DeviceAnnotator& annotator() const = 0;
};

/// Either a collector, or why there is none: the run goes on without kernels and says so.
struct DeviceCollectorStart {
    std::unique_ptr<DeviceCollector> collector;
    std::optional<Diagnostic> diagnostic;
};

}  // namespace shardscope::collectors
