// A tracer that takes every innermost launch context for one kernel, from its push to its pop.
//
// As unfriendly as CUPTI: it hands kernels on when the device is idle or all is asked for, knows
// nothing of them below the level of launches, and ends the process when it is switched off while
// the device works.
#pragma once

#include "profiler/collectors/cupti/device_collector.h"

#include <functional>

namespace shardscope::test {

struct FakeTracing {
    std::function<bool()> deviceIsIdle;
    bool held = false;  ///< by a broken device: it never hands anything on
};
[[nodiscard]] collectors::DeviceCollectorStart startFakeTracing(capture::DeviceLevel level,
                                                                capture::DeviceSink& sink,
                                                                const FakeTracing& how);

}  // namespace shardscope::test
