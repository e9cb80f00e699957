// Which strategy to take where no more than the number of parameters is known. Pure functions.
#pragma once

#include "profiler/planning/strategy_plan.h"
#include "storage/model/result.h"
#include "storage/model/units.h"
#include "storage/model/words.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::planning {

// What training keeps of each parameter from step to step, and how strategies divide it over data
// parallel ranks. Pure functions.
//
// Sources: ZeRO (Rajbhandari et al., arXiv 1910.02054), figure 1 and sections 3.1, 5 and 7.

/// Bytes a parameter.
struct StateBytes {
    double parameters = 0;  ///< as products read them
    double gradients = 0;
    double optimizer = 0;  ///< moments, and a master copy where parameters are narrow
    [[nodiscard]] double all() const { return parameters + gradients + optimizer; }
    friend bool operator==(const StateBytes&, const StateBytes&) = default;
};

/// fp16 parameters and gradients, Adam with an fp32 master: ZeRO's 2 + 2 + 12.
inline constexpr StateBytes kMixedAdam{2, 2, 12};

/// "2+2+12"; a number may have a fraction. kUsage with a sentence on anything else.
[[nodiscard]] Result<StateBytes> parseStateBytes(std::string_view text);
/// "2+2+12"
[[nodiscard]] std::string textOf(const StateBytes& bytes);

enum class Sharding : std::uint8_t { kNone, kOptimizer, kGradients, kParameters };
struct ShardingWords {
    Sharding value;
    const char* word;
    const char* name;
    const char* definition;
    const char* memory;         ///< bytes a rank: p, g, o bytes a parameter, N parameters, W ranks
    const char* communication;  ///< bytes that a rank sends in a step of one micro-step
};
constexpr auto wordsOf(Sharding) {
    return wordList<ShardingWords>(
        {{Sharding::kNone, "ddp", "DDP", "Every rank keeps all; gradients are summed over ranks.",
          "N (p + g + o)", "N (2 g) (W - 1) / W"},
         {Sharding::kOptimizer, "zero1", "ZeRO-1",
          "A rank keeps its part of the optimizer's state; parameters are gathered after the step.",
          "N (p + g + o / W)", "N (g + p) (W - 1) / W"},
         {Sharding::kGradients, "zero2", "ZeRO-2", "And its part of the gradients.",
          "N (p + (g + o) / W)", "N (g + p) (W - 1) / W"},
         {Sharding::kParameters, "zero3", "ZeRO-3",
          "And its part of the parameters, which are gathered for forward and for backward.",
          "N (p + g + o) / W", "N (g + 2 p) (W - 1) / W"}});
}

/// Of a model of `parameters` over `ranks` >= 1.
[[nodiscard]] double stateBytesPerRank(Sharding sharding, const StateBytes& bytes,
                                       double parameters, std::int64_t ranks);
/// What a rank sends in a step of one micro-step, by rings; as much is received.
[[nodiscard]] double trafficPerStep(Sharding sharding, const StateBytes& bytes, double parameters,
                                    std::int64_t ranks);

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
