// What a rank's computing takes where nothing of it was recorded: by the rates of its device. Pure
// functions; everything is estimated.
#pragma once

#include "profiler/planning/compute_times.h"

#include <string>

namespace shardscope::planning {

struct ComputeRate {
    double flops = 0;           ///< FLOP/s of matrix products at the run's precision, at most
    double bytesPerSecond = 0;  ///< of memory
    std::string source;         ///< of both: a phrase
};

/// Of the peak, what a training step's matrix products reach with all that lies between them.
struct Utilisation {
    double expected = 0.45;
    double low = 0.35, high = 0.55;
};
/// This engine on an H200: 0.41 in small and 0.51 in large micro-steps (docs/gpu.md).
inline constexpr Utilisation kUsualUtilisation{};

/// Blocks and head: their matrix products (model_theory.h, causal attention), backward twice the
/// forward, at utilisation x peak. Embedding, clip and optimizer: the bytes that they read and
/// write, 28 of an element of fp32 state. `low` and `high` are of the utilisation.
[[nodiscard]] ComputeTimes timesAt(const run::RunConfig& config, const ComputeRate& rate,
                                   const Utilisation& utilisation = kUsualUtilisation);

}  // namespace shardscope::planning
