// The device of a rank once it is open: what runs on it, and the clock and timeline of that.
#pragma once

#include "engine/control/device_clock.h"
#include "engine/control/device_runtime.h"
#include "engine/worker/device_timeline.h"
#include "engine/worker/gpu_device.h"

namespace shardscope::worker {

struct GpuContext {
    /// Makes the device the calling thread's and creates its context. Throws control::DeviceError.
    explicit GpuContext(const GpuDevice& device)
        : runtime(device.module().openDevice(device.index())),
          clock(runtime),
          timeline(runtime, clock) {}

    control::DeviceRuntime& runtime;  ///< the module's; lives as long as the process
    control::DeviceClock clock;
    DeviceTimeline timeline;  ///< its marks are destroyed before the clock's
};

}  // namespace shardscope::worker
