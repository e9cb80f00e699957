// Parameters and their gradients as views into flat buffers.
#pragma once

#include "engine/kernels/parameter.h"
#include "engine/parallel/shard_layout.h"
#include "storage/model/events.h"

#include <ATen/core/Tensor.h>
#include <c10/core/TensorOptions.h>

#include <functional>
#include <span>

namespace shardscope::parallel {

void bindValues(std::span<kernels::Parameter> parameters, const ShardLayout& layout,
                const at::Tensor& flat);
void unbindValues(std::span<kernels::Parameter> parameters);
void bindGradients(std::span<kernels::Parameter> parameters, const ShardLayout& layout,
                   const at::Tensor& flat, bool accumulate);

/// Hands out views of the whole unit in `flat`.
void visitValues(std::span<const kernels::Parameter> parameters, const ShardLayout& layout,
                 const at::Tensor& flat,
                 const std::function<void(const kernels::Parameter&, const at::Tensor&)>& sink);

/// Calls `visit(parameter index, begin inside it, begin of `range`, count)` for every parameter
/// that overlaps the elements [begin, begin + count) of the flat buffer.
void forEachOverlap(
    std::span<const kernels::Parameter> parameters, const ShardLayout& layout, std::int64_t begin,
    std::int64_t count,
    const std::function<void(std::size_t, std::int64_t, std::int64_t, std::int64_t)>& visit);

/// (n) zeros booked under `category` as `owner`, a static string.
at::Tensor zeros(MemoryCategory category, const char* owner, std::int64_t n,
                 const at::TensorOptions& options);

}  // namespace shardscope::parallel
