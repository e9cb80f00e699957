// Parameters and their gradients as views into flat buffers, and AdamW on a shard.
#pragma once

#include "engine/kernels/adamw.h"
#include "engine/kernels/parameter.h"
#include "engine/parallel/shard_layout.h"
#include "storage/model/events.h"

#include <ATen/core/Tensor.h>

#include <span>

namespace shardscope::parallel {

void bindValues(std::span<kernels::Parameter> parameters, const ShardLayout& layout,
                const at::Tensor& flat);
void unbindValues(std::span<kernels::Parameter> parameters);
void bindGradients(std::span<kernels::Parameter> parameters, const ShardLayout& layout,
                   const at::Tensor& flat, bool accumulate);

/// (n) zeros booked under `category` as `owner`, a static string.
at::Tensor zeros(MemoryCategory category, const char* owner, std::int64_t n);

/// Weight decay on the first `decaying` elements only.
void updateShard(const kernels::AdamWStep& step, std::int64_t decaying, std::span<float> parameter,
                 std::span<const float> gradient, std::span<float> firstMoment,
                 std::span<float> secondMoment);

inline std::span<float> floats(const at::Tensor& flat) {
    return {flat.mutable_data_ptr<float>(), static_cast<std::size_t>(flat.numel())};
}
inline std::span<const float> constFloats(const at::Tensor& flat) {
    return {flat.const_data_ptr<float>(), static_cast<std::size_t>(flat.numel())};
}

}  // namespace shardscope::parallel
