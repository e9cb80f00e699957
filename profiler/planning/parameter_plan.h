// Which strategy to take where no more than the number of parameters is known. Pure functions.
#pragma once

#include "profiler/planning/state_bytes.h"
#include "storage/model/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::planning {

struct ParameterPlanInput {
    double parameters = 0;
    std::int64_t ranks = 1;
    StateBytes state = kMixedAdam;
    std::optional<Bytes> memory;  ///< of a device
};

struct StrategyPlan {
    Sharding sharding = Sharding::kNone;
    double stateBytesPerRank = 0;
    double communicationBytesPerStep = 0;
    std::optional<bool> fits;  ///< absent: the device's memory is not known
    bool recommended = false;
    std::string reason;  ///< a sentence
};

/// "7e9", "7B", "124M", "203,033,600". kUsage with a sentence on anything else.
[[nodiscard]] Result<double> parseParameters(std::string_view text);

/// In the order of Sharding. Recommended is what sends least of those whose state leaves room for
/// activations, of equals the simplest; none where the memory of a device is not known or nothing
/// fits.
[[nodiscard]] std::vector<StrategyPlan> planStrategies(const ParameterPlanInput& input);

/// Of a device's memory, what state may take: the rest is for activations, gathered parameters,
/// buffers and the context.
inline constexpr double kStateShare = 0.8;

/// The fewest ranks over which the state fits; absent where it never does: what is not divided is
/// too large, or over `kMostRanks` still.
inline constexpr std::int64_t kMostRanks = 1 << 20;
[[nodiscard]] std::optional<std::int64_t> fewestRanks(Sharding sharding,
                                                      const ParameterPlanInput& input);

}  // namespace shardscope::planning
