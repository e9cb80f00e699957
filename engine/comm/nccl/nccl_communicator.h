// The communicator of GPU ranks: NCCL on a stream of its own.
//
// Streams: an operation starts after what the caller's current stream holds at the time of the
// call, and Work::wait() makes the then current stream wait for it; the host never blocks but in
// allReduceSmall() and barrier(). Communicators split from one another share the stream: two
// running at the same time may deadlock. The caller keeps every buffer alive until the stream that
// consumes the result has waited (no record_stream).
//
// While a device graph is captured operations become part of it (nccl_graphs.h); there Work::wait()
// joins what was captured, and needs not wait for anything before.
//
// A watcher thread notes when operations end, reports them, and raises the alarm when ranks have
// asked for different things, an operation has started and does not end, or NCCL itself reports an
// error: a peer is gone. Nothing can be
// continued then; the owner is to end the process.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/comm/nccl/nccl_api.h"
#include "engine/comm/operation.h"
#include "engine/control/device_clock.h"
#include "engine/control/device_runtime.h"
#include "engine/control/observer.h"

#include <c10/core/Device.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardscope::comm {

struct NcclSetup {
    const NcclApi* api = nullptr;
    control::DeviceRuntime* runtime = nullptr;
    control::DeviceClock* clock = nullptr;
    c10::Device device{c10::DeviceType::CUDA};
    int rank = 0;
    int size = 1;
    NcclUniqueId id{};
    const char* name = "world";             ///< in NCCL's own events
    control::Observer* observer = nullptr;  ///< may be null; called on the watcher thread
    /// out[i] (+)= in[i] on `stream` (kernels::DeviceKernels::accumulate).
    void (*accumulate)(const void* in, DataType dtype, float* out, std::int64_t n, bool add,
                       void* stream) = nullptr;
    /// Around each NCCL call, on the calling thread: whose launches follow, without its times; then
    /// null, also when the call has thrown. May itself be null.
    void (*annotate)(const control::CollectiveReport* whose) = nullptr;
    /// By rank, null on other hosts; empty: what ranks ask for is not compared.
    std::vector<CallRecord*> calls;
    /// How long an operation may run on the device before it counts as hung.
    std::chrono::milliseconds timeout{60'000};
    /// On the watcher thread, once: what happened, in a sentence.
    std::function<void(const std::string&)> failed;
};

/// Blocks until all ranks have joined. Throws CommunicationError.
std::unique_ptr<Communicator> makeNcclCommunicator(NcclSetup setup);

}  // namespace shardscope::comm
