#include "engine/worker/device_attention.h"

#include "engine/kernels/attention.h"
#include "engine/worker/queued_timing.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace shardscope::worker {
namespace {

/// Side of the products that the device is at meanwhile: longer than their launches.
constexpr std::int64_t kLargestSquare = 4096;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Of one forward and backward; a kernel that refuses these shapes is never done.
std::int64_t nsOfOnePass(kernels::DeviceAttention kind, const run::RunConfig& config,
                         at::Device device, DeviceTimeline& timeline) {
    kernels::useDeviceAttention(kind);
    const at::Tensor qkv = attentionInput(config, device).set_requires_grad(true);
    const std::int64_t side = std::min(kLargestSquare, qkv.size(0));
    const at::Tensor square = at::randn({side, side}, qkv.options().requires_grad(false));
    const auto pass = [&] {
        const at::Tensor out = kernels::causalAttention(qkv, config.batch, config.model.heads);
        out.backward(out.detach());
        qkv.mutable_grad().reset();
    };
    at::Tensor product = at::empty_like(square);
    const auto other = [&] {
        const at::NoGradGuard noGradient;
        at::mm_out(product, square, square);
    };
    try {
        pass();  // chooses plans
        return queuedNs(timeline, pass, other);
    } catch (const c10::Error&) {
        return kNever;
    }
}

}  // namespace

at::ScalarType computeType(run::Precision precision) {
    switch (precision) {
        case run::Precision::kBFloat16:
            return at::kBFloat16;
        case run::Precision::kFloat16:
            return at::kHalf;
        case run::Precision::kFloat32:
        case run::Precision::kTf32:
            break;
    }
    return at::kFloat;
}

at::Tensor attentionInput(const run::RunConfig& config, at::Device device) {
    return at::randn({config.batch * config.model.context, 3 * config.model.hidden},
                     at::TensorOptions().device(device).dtype(computeType(config.precision)));
}

bool cudnnIsFaster(const run::RunConfig& config, at::Device device, DeviceTimeline& timeline) {
    const at::AutoGradMode gradient(true);
    const at::DisableRecordFunctionGuard
        bookkeeping;  // thousands of operators that nobody asks for
    const std::int64_t cudnn =
        nsOfOnePass(kernels::DeviceAttention::kCudnn, config, device, timeline);
    return cudnn < nsOfOnePass(kernels::DeviceAttention::kFlash2, config, device, timeline);
}

}  // namespace shardscope::worker
