// How ranks come together over NCCL. Step thread.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/control/device_clock.h"
#include "engine/control/device_runtime.h"
#include "engine/control/observer.h"
#include "engine/worker/gpu_device.h"
#include "engine/worker/rank_links.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace shardscope::worker {

/// All outlive the communicator.
struct NcclParts {
    const GpuDevice& device;
    control::DeviceRuntime& runtime;
    control::DeviceClock& clock;
    control::Observer& observer;
};

/// `links` join the same ranks already: through them NCCL's id travels, and in the memory of a host
/// its ranks see what the others call, so they outlive the result. `failed` is told, once and on
/// the watcher thread, when a peer is lost or an operation takes longer than `timeout`. Throws
/// CommunicationError.
[[nodiscard]] std::unique_ptr<comm::Communicator> startNccl(
    const RankLinks& links, const NcclParts& parts, std::chrono::seconds timeout,
    std::function<void(const std::string&)> failed);

}  // namespace shardscope::worker
