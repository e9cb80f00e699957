#include "engine/training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shardscope::training {
namespace {

/// How much of the way down to the minimum is still ahead, 1 to 0, at `progress` from 0 to 1.
double remaining(run::Schedule schedule, double progress) {
    switch (schedule) {
        case run::Schedule::kCosine:
            return 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
        case run::Schedule::kLinear:
            return 1.0 - progress;
        case run::Schedule::kConstant:
            break;
    }
    return 1.0;
}

}  // namespace

double learningRate(const run::RunConfig& config, std::int32_t step) {
    if (step < config.warmupSteps) {
        return config.learningRate * static_cast<double>(step + 1) /
               static_cast<double>(config.warmupSteps);
    }
    const double span = std::max(1, config.steps - config.warmupSteps);
    const double progress = std::min(1.0, static_cast<double>(step - config.warmupSteps) / span);
    return config.minimumLearningRate + (config.learningRate - config.minimumLearningRate) *
                                            remaining(config.schedule, progress);
}

}  // namespace shardscope::training
