#include "engine/parallel/views.h"

#include "engine/control/observer.h"

#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>

namespace shardscope::parallel {
namespace {

at::Tensor view(const kernels::Parameter& parameter, std::int64_t offset, const at::Tensor& flat) {
    return flat.narrow(0, offset, parameter.count()).view(parameter.shape);
}

}  // namespace

void bindValues(std::span<kernels::Parameter> parameters, const ShardLayout& layout,
                const at::Tensor& flat) {
    const at::DisableRecordFunctionGuard bookkeeping;  // views are no work worth an event
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        parameters[i].value = view(parameters[i], layout.offsets[i], flat);
    }
}

void unbindValues(std::span<kernels::Parameter> parameters) {
    for (kernels::Parameter& parameter : parameters) parameter.value = at::Tensor();
}

void bindGradients(std::span<kernels::Parameter> parameters, const ShardLayout& layout,
                   const at::Tensor& flat, bool accumulate) {
    const at::DisableRecordFunctionGuard bookkeeping;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        parameters[i].gradient = view(parameters[i], layout.offsets[i], flat);
        parameters[i].accumulate = accumulate;
    }
}

void visitValues(std::span<const kernels::Parameter> parameters, const ShardLayout& layout,
                 const at::Tensor& flat,
                 const std::function<void(const kernels::Parameter&, const at::Tensor&)>& sink) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        sink(parameters[i], view(parameters[i], layout.offsets[i], flat));
    }
}

void forEachOverlap(
    std::span<const kernels::Parameter> parameters, const ShardLayout& layout, std::int64_t begin,
    std::int64_t count,
    const std::function<void(std::size_t, std::int64_t, std::int64_t, std::int64_t)>& visit) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const std::int64_t first = std::max(begin, layout.offsets[i]);
        const std::int64_t last =
            std::min(begin + count, layout.offsets[i] + parameters[i].count());
        if (first < last) visit(i, first - layout.offsets[i], first - begin, last - first);
    }
}

at::Tensor zeros(MemoryCategory category, const char* owner, std::int64_t n,
                 const at::TensorOptions& options) {
    const control::MemoryScope scope(category, owner);
    return at::zeros({n}, options);
}

ShardLayout layOut(std::span<const kernels::Parameter> parameters, std::int64_t ranks,
                   bool answers) {
    ShardLayout layout;
    layout.ranks = ranks;
    for (const kernels::Parameter& parameter : parameters) {
        layout.offsets.push_back(layout.used);
        layout.used += parameter.count();
        if (parameter.decayed.value_or(parameter.decays())) layout.decaying = layout.used;
        if (parameter.divided) layout.counted = layout.used;
    }
    const std::int64_t step = ranks * kCacheLineFloats;
    layout.shard = (layout.used + step - 1) / step * kCacheLineFloats;
    if (answers) layout.counted = layout.padded();
    return layout;
}

}  // namespace shardscope::parallel
