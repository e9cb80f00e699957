// An NCCL for ranks that are threads: the same calls, queued on FakeDevice streams, on host memory.
//
// As the real one it frees a communicator when it is aborted. Where the real one would then read
// freed memory, or make a context on device 0 since the calling thread has no device, the fake ends
// the process with a sentence.
#pragma once

#include "engine/comm/nccl/nccl_api.h"

namespace shardscope::test {

[[nodiscard]] const comm::NcclApi& fakeNccl();

/// All operations of ranks that joined with `id` after the first `count` of each rank never end
/// (until abort): as when a peer has died.
void hangAfter(const comm::NcclUniqueId& id, int count);
/// What asyncError() of every rank says from now on.
void failAsynchronously(const comm::NcclUniqueId& id, int error);

/// Communicators that were neither aborted nor destroyed.
[[nodiscard]] int liveCommunicators();

}  // namespace shardscope::test
