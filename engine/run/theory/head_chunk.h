// How many logits the fused head holds at a time: its kernels work by it, memory theory counts it.
#pragma once

#include <cstdint>

namespace shardscope::theory {

/// 8 MiB of fp32, so that they stay near the core.
inline constexpr std::int64_t kHostLogitChunk = std::int64_t{2} << 20;
/// 256 MiB of bf16: enough rows to fill a GPU.
inline constexpr std::int64_t kDeviceLogitChunk = std::int64_t{128} << 20;

}  // namespace shardscope::theory
