// Which strategy to take where no more than the number of parameters is known. Pure functions.
#pragma once

#include "profiler/planning/state_bytes.h"
#include "profiler/planning/strategy_plan.h"
#include "storage/model/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::planning {

struct ParameterPlanInput {
    std::string model;  ///< its name; empty: it has none
    double parameters = 0;
    std::int64_t ranks = 1;
    StateBytes state = kMixedAdam;
    std::optional<Bytes> memory;  ///< of a device
};

/// "7e9", "7B", "124M", "203,033,600". kUsage with a sentence on anything else.
[[nodiscard]] Result<double> parseParameters(std::string_view text);

/// In the order of Sharding, with what recommend() says. What fits leaves room for activations; of
/// what does not, the reason has the share of the device and from how many ranks on it would.
[[nodiscard]] std::vector<StrategyPlan> planStrategies(const ParameterPlanInput& input);

/// The fewest ranks over which the state fits; absent where it never does: what is not divided is
/// too large, or over `kMostRanks` still.
inline constexpr std::int64_t kMostRanks = 1 << 20;
[[nodiscard]] std::optional<std::int64_t> fewestRanks(Sharding sharding,
                                                      const ParameterPlanInput& input);

}  // namespace shardscope::planning
