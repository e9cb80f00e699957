#include "engine/worker/gpu_peak.h"

#include "engine/kernels/note_tensor.h"
#include "engine/run/theory/device_peaks.h"
#include "engine/worker/device_attention.h"

#include <fmt/format.h>

namespace shardscope::worker {
namespace {

constexpr double kPeakSeconds = 0.4;

}  // namespace

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
