#include "profiler/planning/compute_rates.h"

#include "engine/run/theory/model_theory.h"

#include <cmath>

namespace shardscope::planning {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr double kFloatBytes = 4;
/// AdamW reads parameter, gradient and two moments, and writes all but the gradient.
constexpr double kUpdateBytes = 7 * kFloatBytes;

Duration nanoseconds(double seconds) {
    return {std::llround(seconds * kNsPerSecond)};
}

}  // namespace

ComputeTimes timesAt(const run::RunConfig& config, const ComputeRate& rate,
                     const Utilisation& utilisation) {
    const auto flops = theory::forwardFlopsPerToken(config.model, theory::AttentionCount::kCausal);
    const auto tokens = static_cast<double>(config.batch * config.model.context);
    const double reached = utilisation.expected * rate.flops;
    const double rows =
        tokens * static_cast<double>(config.model.hidden) * kFloatBytes / rate.bytesPerSecond;
    ComputeTimes times;
    times.config = config;
    times.block =
        nanoseconds(tokens * flops.blocks() / static_cast<double>(config.model.layers) / reached);
    times.blockBackward = {2 * times.block.ns};
    times.recompute = times.block;
    times.head = nanoseconds(3 * tokens * flops.head / reached);
    times.embed = nanoseconds(2 * rows);
    times.embedBackward = nanoseconds(3 * rows);
    times.clipNs = kFloatBytes / rate.bytesPerSecond * kNsPerSecond;
    times.optimizerNs = kUpdateBytes / rate.bytesPerSecond * kNsPerSecond;
    times.low = utilisation.expected / utilisation.high;
    times.high = utilisation.expected / utilisation.low;
    times.ranksOnHost = config.ranks;
    return times;
}

}  // namespace shardscope::planning
