#include "engine/training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shardscope::training {

double learningRate(const control::RunConfig& config, std::int32_t step) {
    if (step < config.warmupSteps) {
        return config.learningRate * static_cast<double>(step + 1) /
               static_cast<double>(config.warmupSteps);
    }
    const double span = std::max(1, config.steps - config.warmupSteps);
    const double progress = std::min(1.0, static_cast<double>(step - config.warmupSteps) / span);
    return config.minimumLearningRate + 0.5 * (config.learningRate - config.minimumLearningRate) *
                                            (1.0 + std::cos(std::numbers::pi * progress));
}

}  // namespace shardscope::training
