// On which devices a plan fits: a row each, a column a strategy.
#pragma once

#include "engine/run/theory/device_peaks.h"
#include "profiler/planning/model_plan.h"
#include "profiler/planning/parameter_plan.h"

#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::cli {

struct FitsOnDevice {
    std::string_view device;
    Bytes memory;
    std::vector<planning::StrategyPlan> plans;
};

[[nodiscard]] inline std::vector<planning::StrategyPlan> plansOf(
    const planning::ParameterPlanInput& input) {
    return planning::planStrategies(input);
}
[[nodiscard]] inline std::vector<planning::StrategyPlan> plansOf(
    const planning::ModelPlanInput& input) {
    return planning::planModel(input);
}

/// Of all devices whose memory is known, in the order of their table.
template <class Input>
[[nodiscard]] std::vector<FitsOnDevice> fitsOn(Input input) {
    std::vector<FitsOnDevice> all;
    if constexpr (requires { input.times; }) input.times.reset();  // it is about memory alone
    for (const std::string_view device : theory::knownDevices()) {
        const auto capacity = theory::deviceCapacity(device);
        if (!capacity.value) continue;
        input.memory = Bytes{std::llround(capacity.value->bytes)};
        all.push_back({device, *input.memory, plansOf(input)});
    }
    return all;
}

}  // namespace shardscope::cli
