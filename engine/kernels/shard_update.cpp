#include "engine/kernels/shard_update.h"

#include "engine/kernels/adamw.h"
#include "engine/kernels/device_kernels.h"
#include "engine/kernels/operator_scope.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <span>

namespace shardscope::kernels {
namespace {

std::span<float> part(const at::Tensor& flat, std::int64_t begin, std::int64_t end) {
    return {flat.mutable_data_ptr<float>() + begin, static_cast<std::size_t>(end - begin)};
}

void updateOnHost(const AdamWConstants& constants, const ShardState& shard, std::int64_t begin,
                  std::int64_t end) {
    constexpr std::int64_t kGrain = 1 << 16;  // below it threads cost more than they save
    at::parallel_for(begin, end, kGrain, [&](std::int64_t from, std::int64_t to) {
        adamW(constants, part(shard.parameter, from, to), part(shard.gradient, from, to),
              part(shard.firstMoment, from, to), part(shard.secondMoment, from, to));
    });
}

bool copied(const ShardState& shard) {
    return !shard.compute.is_same(shard.parameter);
}

/// Narrowed on the host first: a copy to a device that converts as well would wait for it.
void copyBack(const ShardState& shard) {
    at::Tensor narrow = shard.parameter;
    const bool converts = shard.compute.scalar_type() != at::kFloat;
    if (converts && !shard.compute.is_cpu()) {
        narrow = at::empty(shard.parameter.sizes(),
                           at::TensorOptions().dtype(shard.compute.dtype()).pinned_memory(true));
        narrow.copy_(shard.parameter);
    }
    shard.compute.copy_(narrow, true);
}

void noteState(const ShardState& shard) {
    using control::TensorRole;
    note(TensorRole::kMasterParameter, shard.parameter, "optimizer");
    note(TensorRole::kParameter, shard.compute, "optimizer's copy");
    note(TensorRole::kReducedGradient, shard.gradient, "optimizer");
    note(TensorRole::kFirstMoment, shard.firstMoment, "optimizer");
    note(TensorRole::kSecondMoment, shard.secondMoment, "optimizer");
}

}  // namespace

void beginUpdate(const at::Tensor& values, bool stop, bool change) {
    const double votes[] = {stop ? 1.0 : 0.0, change ? 1.0 : 0.0};
    StepUpdate* update = stepUpdateIn(values);
    if (values.is_cuda()) {
        deviceKernels()->beginUpdate(update, votes[0], votes[1], nativeStream(values.device()));
    } else {
        update->sums = {0, 0, votes[0], votes[1]};
    }
}

void decideUpdate(const UpdateRule& rule, const at::Tensor& values) {
    if (values.is_cuda()) {
        deviceKernels()->decideUpdate(rule, stepUpdateIn(values), nativeStream(values.device()));
    } else {
        decideUpdate(rule, *stepUpdateIn(values));
    }
}

void updateShard(const StepUpdate* update, std::int64_t decaying, const ShardState& shard) {
    const OperatorScope scope("adamw");
    noteState(shard);
    if (shard.parameter.is_cuda()) {
        const bool casts = copied(shard) && shard.compute.scalar_type() == at::kBFloat16;
        deviceKernels()->adamW(
            update, shard.parameter.numel(), decaying, shard.parameter.mutable_data_ptr<float>(),
            shard.gradient.const_data_ptr<float>(), shard.firstMoment.mutable_data_ptr<float>(),
            shard.secondMoment.mutable_data_ptr<float>(),
            casts ? shard.compute.mutable_data_ptr() : nullptr,
            nativeStream(shard.parameter.device()));
        if (copied(shard) && !casts) shard.compute.copy_(shard.parameter);
        return;
    }
    if (update->applied == 0) return;
    ShardState host = shard;
    host.gradient = inHostMemory(shard.gradient);
    updateOnHost(update->constants, host, 0, decaying);
    AdamWConstants plain = update->constants;
    plain.decay = 1;
    updateOnHost(plain, host, decaying, shard.parameter.numel());
    if (copied(shard)) copyBack(shard);
}

at::Tensor inHostMemory(const at::Tensor& t) {
    if (t.is_cpu()) return t;
    const at::Tensor host = at::empty(t.sizes(), t.options().device(at::kCPU).pinned_memory(true));
    host.copy_(t);
    return host;
}

void addSquaredNorm(const at::Tensor& gradient, const at::Tensor& total) {
    if (gradient.numel() == 0) return;
    if (gradient.is_cpu() && !total.is_cpu()) {
        total.add_(sumOfSquares(part(gradient, 0, gradient.numel())));
    } else if (gradient.is_cuda()) {
        deviceKernels()->sumOfSquares(gradient.const_data_ptr<float>(), gradient.numel(),
                                      total.mutable_data_ptr<double>(),
                                      nativeStream(gradient.device()));
    } else {
        *total.mutable_data_ptr<double>() += sumOfSquares(part(gradient, 0, gradient.numel()));
    }
}

}  // namespace shardscope::kernels
