// The matmul rate that this device reaches: the denominator of MAMF.
#pragma once

#include "storage/model/events.h"

#include <cstdint>

namespace shardscope::worker {

/// As CudaModule::measureMatmul. On the calling thread's device and current stream.
[[nodiscard]] double measureCudaMatmul(std::int64_t m, std::int64_t n, std::int64_t k,
                                       DataType dtype, bool tf32, double seconds);

}  // namespace shardscope::worker
