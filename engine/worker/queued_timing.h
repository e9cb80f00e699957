// How long the device works at something, whatever the host needs to queue it.
#pragma once

#include "engine/worker/device_timeline.h"

#include <cstdint>
#include <functional>

namespace shardscope::worker {

/// ns of the device for one `work`, which queues it; the mean of `times` in a row. They are queued
/// while the device is still at `other`, of which as many are queued as that takes: a small kernel
/// on an idle device lasts as long as the host needs for its launch, and several of them are no
/// faster. Step thread; waits for the device. Throws control::DeviceError.
[[nodiscard]] std::int64_t queuedNs(DeviceTimeline& timeline, const std::function<void()>& work,
                                    const std::function<void()>& other, int times = 10);

}  // namespace shardscope::worker
