// A tracer that takes every launch context for one kernel that runs from its push to its pop.
#pragma once

#include "profiler/collectors/cupti/device_collector.h"

namespace shardscope::test {

[[nodiscard]] collectors::DeviceCollectorStart startFakeTracing(capture::DeviceLevel level,
                                                                capture::DeviceSink& sink);

}  // namespace shardscope::test
