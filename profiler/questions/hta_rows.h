// What HTA would see of a recording exported for it.
#pragma once

#include "profiler/analysis/device/hta_compatible.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <vector>

namespace shardscope::questions {

/// Of all ranks, in memory: some 60 bytes a kernel or launch. Ranks without a device have the
/// kernels that an export gives them (docs/kineto.md).
[[nodiscard]] Result<std::vector<analysis::HtaTrace>> readHtaTraces(
    storage::RecordingReader& reader);

}  // namespace shardscope::questions
