// NcclApi filled in from libnccl. Linked into the CUDA module only.
#pragma once

#include "engine/comm/nccl/nccl_api.h"

namespace shardscope::comm {

[[nodiscard]] const NcclApi& ncclLibrary();

}  // namespace shardscope::comm
