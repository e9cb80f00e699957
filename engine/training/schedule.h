// Learning-rate schedule: linear warm-up, then level, or a line or a half cosine down to the
// minimum, which is reached in the step after the last (Loshchilov & Hutter, arXiv 1608.03983,
// without restarts).
#pragma once

#include "engine/run/config/run_config.h"

#include <cstdint>

namespace shardscope::training {

/// Of `step`, counted from 0; the minimum from config.steps on.
[[nodiscard]] double learningRate(const run::RunConfig& config, std::int32_t step);

}  // namespace shardscope::training
