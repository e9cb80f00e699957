#include "engine/worker/gpu_speed.h"

#include "engine/kernels/attention.h"
#include "engine/kernels/operator_scope.h"
#include "engine/run/theory/device_peaks.h"
#include "storage/model/rank_facts.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <ATen/record_function.h>
#include <fmt/format.h>

#include <algorithm>
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

constexpr double kPeakSeconds = 0.4;

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
    const at::DisableRecordFunctionGuard bookkeeping;  // of thousands of operators
    const std::int64_t cudnn =
        nsOfOnePass(kernels::DeviceAttention::kCudnn, config, device, timeline);
    return cudnn < nsOfOnePass(kernels::DeviceAttention::kFlash2, config, device, timeline);
}

double productRate(const CudaModule& module, const ProductShape& shape, run::Precision precision,
                   double seconds) {
    return module.measureMatmul(shape.rows, shape.columns, shape.inner,
                                kernels::dataTypeOf(computeType(precision)),
                                precision == run::Precision::kTf32, seconds);
}

void measurePeak(const CudaModule& module, const run::RunConfig& config, DeviceFacts& facts) {
    const run::ModelConfig& model = config.model;
    const std::int64_t rows = config.batch * model.context;
    facts.measuredPeak =
        productRate(module, {rows, model.hidden, 4 * model.hidden}, config.precision, kPeakSeconds);
    facts.measuredPeakSource = fmt::format(
        "measured: best {} ({} x {}) x ({} x {}) matrix product of random data before "
        "the first step",
        toWord(config.precision), rows, model.hidden, model.hidden, 4 * model.hidden);
}

void lookUpPeak(run::Precision precision, DeviceFacts& facts) {
    const auto vendor = theory::devicePeak(facts.name, toWord(precision));
    if (!vendor.value) {
        facts.vendorPeakSource = vendor.reason;
    } else if (facts.mig) {
        facts.vendorPeakSource = "the device is split by MIG: the data sheet is about all of it";
    } else {
        facts.vendorPeak = vendor.value->flops;
        facts.vendorPeakSource = fmt::format(
            "dense {}, accumulated in {}, {}{}{}", toWord(precision), vendor.value->accumulate,
            vendor.value->source, vendor.value->mark.empty() ? "" : "; ", vendor.value->mark);
    }
}

run::PeakMeasured peakOf(const DeviceFacts& facts) {
    run::PeakMeasured peak;
    peak.source = facts.vendorPeakSource;
    if (facts.sharedBy > 1) {
        peak.source = "shared device: ranks that take turns have no peak of their own";
    } else {
        peak.peakFlops = facts.vendorPeak;
    }
    return peak;
}

}  // namespace shardscope::worker
