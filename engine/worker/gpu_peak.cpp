#include "engine/worker/gpu_peak.h"

#include "engine/kernels/note_tensor.h"
#include "engine/run/theory/device_peaks.h"
#include "engine/worker/device_attention.h"

#include <fmt/format.h>

namespace shardscope::worker {
namespace {

constexpr double kPeakSeconds = 0.4;

}  // namespace

void measurePeak(const CudaModule& module, const run::RunConfig& config, DeviceFacts& facts) {
    const run::ModelConfig& model = config.model;
    const std::int64_t rows = config.batch * model.context;
    facts.measuredPeak = module.measureMatmul(
        rows, 4 * model.hidden, model.hidden, kernels::dataTypeOf(computeType(config.precision)),
        config.precision == run::Precision::kTf32, kPeakSeconds);
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
