// On which devices a plan fits: a row each, a column a strategy.
#pragma once

#include "engine/run/theory/device_peaks.h"
#include "profiler/planning/model_plan.h"
#include "profiler/planning/parameter_plan.h"

#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::planning {

struct FitsOnDevice {
    std::string_view device;
    Bytes memory;
    std::vector<StrategyPlan> plans;
};

[[nodiscard]] inline std::vector<StrategyPlan> plansOf(const ParameterPlanInput& input) {
    return planStrategies(input);
}
[[nodiscard]] inline std::vector<StrategyPlan> plansOf(const ModelPlanInput& input) {
    return planModel(input);
}

/// Of all devices whose memory is known, in the order of their table; by memory alone.
template <class Input>
[[nodiscard]] std::vector<FitsOnDevice> fitsOn(Input input) {
    input.memory.reset();
    if constexpr (requires { input.times; }) input.times.reset();
    const std::vector<StrategyPlan> plans = plansOf(input);
    std::vector<FitsOnDevice> all;
    for (const std::string_view device : theory::knownDevices()) {
        const auto capacity = theory::deviceCapacity(device);
        if (!capacity.value) continue;
        all.push_back({device, Bytes{std::llround(capacity.value->bytes)}, plans});
        for (StrategyPlan& plan : all.back().plans) plan.fits = fitsInto(plan, all.back().memory);
        recommend(all.back().plans);
    }
    return all;
}

}  // namespace shardscope::planning
