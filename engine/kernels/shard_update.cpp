#include "engine/kernels/shard_update.h"

#include "engine/kernels/device_kernels.h"
#include "engine/kernels/device_stream.h"
#include "engine/kernels/note_tensor.h"
#include "engine/kernels/operator_scope.h"

#include <span>

namespace shardscope::kernels {
namespace {

std::span<float> part(const at::Tensor& flat, std::int64_t begin, std::int64_t end) {
    return {flat.mutable_data_ptr<float>() + begin, static_cast<std::size_t>(end - begin)};
}

void updateOnHost(const AdamWStep& step, const ShardState& shard, std::int64_t begin,
                  std::int64_t end) {
    adamW(step, part(shard.parameter, begin, end), part(shard.gradient, begin, end),
          part(shard.firstMoment, begin, end), part(shard.secondMoment, begin, end));
}

bool copied(const ShardState& shard) {
    return !shard.compute.is_same(shard.parameter);
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

void updateShard(const AdamWStep& step, std::int64_t decaying, const ShardState& shard) {
    const OperatorScope scope("adamw");
    noteState(shard);
    if (shard.parameter.is_cuda()) {
        const bool casts = copied(shard) && shard.compute.scalar_type() == at::kBFloat16;
        deviceKernels()->adamW(
            step, shard.parameter.numel(), decaying, shard.parameter.mutable_data_ptr<float>(),
            shard.gradient.const_data_ptr<float>(), shard.firstMoment.mutable_data_ptr<float>(),
            shard.secondMoment.mutable_data_ptr<float>(),
            casts ? shard.compute.mutable_data_ptr() : nullptr,
            nativeStream(shard.parameter.device()));
        if (copied(shard) && !casts) shard.compute.copy_(shard.parameter);
        return;
    }
    updateOnHost(step, shard, 0, decaying);
    AdamWStep plain = step;
    plain.weightDecay = 0;
    updateOnHost(plain, shard, decaying, shard.parameter.numel());
    if (copied(shard)) shard.compute.copy_(shard.parameter);
}

void addSquaredNorm(const at::Tensor& gradient, const at::Tensor& total) {
    double* sum = total.mutable_data_ptr<double>();
    if (gradient.is_cuda()) {
        deviceKernels()->sumOfSquares(gradient.const_data_ptr<float>(), gradient.numel(), sum,
                                      nativeStream(gradient.device()));
    } else {
        *sum += sumOfSquares(part(gradient, 0, gradient.numel()));
    }
}

}  // namespace shardscope::kernels
