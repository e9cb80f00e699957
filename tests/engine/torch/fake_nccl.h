// An NCCL for ranks that are threads: the same calls, queued on FakeDevice streams, on host memory.
#pragma once

#include "engine/comm/nccl/nccl_api.h"

namespace shardscope::test {

[[nodiscard]] const comm::NcclApi& fakeNccl();

/// All operations of ranks that joined with `id` after the first `count` of each rank never end
/// (until abort): as when a peer has died.
void hangAfter(const comm::NcclUniqueId& id, int count);
/// What asyncError() of every rank says from now on.
void failAsynchronously(const comm::NcclUniqueId& id, int error);

}  // namespace shardscope::test
