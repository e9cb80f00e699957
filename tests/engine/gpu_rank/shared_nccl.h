// An NCCL for ranks that are processes of one host: operations run on FakeDevice streams, data goes
// through shared memory that all of a communicator map.
//
// As unfriendly as the real one: a rank that is gone is noticed by nobody, its peers' operations
// run for ever; abort() and destroy() free the communicator, and whoever touches it afterwards, or
// calls from a thread without a device, ends the process with a sentence.
#pragma once

#include "engine/comm/nccl/nccl_api.h"

namespace shardscope::test {

/// Without messages (send, receive), which no strategy of ours uses between GPUs.
[[nodiscard]] const comm::NcclApi& sharedNccl();

/// The process kills itself (SIGKILL) before its `call`-th collective, counted from 1; 0: never.
void killBefore(int call);

}  // namespace shardscope::test
