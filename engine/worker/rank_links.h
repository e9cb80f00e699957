// How a rank comes to talk to the other ranks of its run, on its host and on others. Step thread.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/control/device_clock.h"
#include "engine/control/device_runtime.h"
#include "engine/control/observer.h"
#include "engine/run/protocol/messages.h"
#include "engine/worker/gpu_device.h"
#include "storage/model/result.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace shardscope::worker {

/// Each lives as long as those below it.
struct RankLinks {
    /// Of GPU ranks: those of this host, through its shared memory.
    std::unique_ptr<comm::Communicator> near;
    /// Of all ranks, for what they agree on beside training, where that is not another's business.
    std::unique_ptr<comm::Communicator> agreement;
    /// Of all ranks: gathers and reductions. Null on GPUs, which NCCL joins later.
    std::unique_ptr<comm::Communicator> training;

    void close() {
        training.reset();
        agreement.reset();
        near.reset();
    }
    [[nodiscard]] comm::Communicator& agreeing() const {
        if (agreement) return *agreement;
        return near ? *near : *training;
    }
};

/// Blocks until all ranks are there. `observer` hears of what CPU ranks gather and reduce. Errors
/// are of the segment; throws CommunicationError.
[[nodiscard]] Result<RankLinks> linkRanks(const run::RankStart& start, bool gpu,
                                          control::Observer& observer);

// How ranks come together over NCCL. Step thread.

/// All outlive the communicator.
struct NcclParts {
    const GpuDevice& device;
    control::DeviceRuntime& runtime;
    control::DeviceClock& clock;
    control::Observer& observer;
};

/// `links` join the same ranks already: through them NCCL's id travels, and in the memory of a host
/// its ranks see what the others call, so they outlive the result. `failed` is called, once and on
/// the watcher thread, when a peer is lost or an operation takes longer than `timeout`. Throws
/// CommunicationError.
[[nodiscard]] std::unique_ptr<comm::Communicator> startNccl(
    const RankLinks& links, const NcclParts& parts, std::chrono::seconds timeout,
    std::function<void(const std::string&)> failed);

}  // namespace shardscope::worker
