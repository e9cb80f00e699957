// Learning-rate schedule: linear warm-up, then a cosine down to the minimum at the last step.
#pragma once

#include "engine/control/run_config.h"

#include <cstdint>

namespace shardscope::training {

[[nodiscard]] double learningRate(const control::RunConfig& config, std::int32_t step);

}  // namespace shardscope::training
