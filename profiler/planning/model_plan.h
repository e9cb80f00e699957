// Which strategy to take for a model of known shape: by the engine's own theory, to the byte of
// what its allocator holds. Pure functions.
#pragma once

#include "engine/run/config/run_config.h"
#include "profiler/planning/plan_times.h"
#include "profiler/planning/strategy_plan.h"
#include "storage/model/result.h"
#include "storage/model/units.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::planning {

struct ModelPlanInput {
    run::RunConfig config;                  ///< its strategy does not matter
    std::optional<run::Strategy> strategy;  ///< that projections are of; absent: the recommended
    std::optional<Bytes> memory;            ///< of a device, or of a host for each of its CPU ranks
    std::optional<PlanTimes> times;         ///< absent: plans say nothing of time
};

/// What a GPU holds besides: the context and libraries. 1.3 GiB on an H200 with CUDA 13.0
/// (docs/gpu.md); of a CPU rank nothing is added.
inline constexpr Bytes kOutsideAllocator{1'400'000'000};

/// The strategies that this run may have, what is simplest first, with what recommend() says. Of
/// what does not fit, the reason has its share of the memory and what would fit: a smaller batch,
/// or more ranks.
[[nodiscard]] std::vector<StrategyPlan> planModel(const ModelPlanInput& input);

/// How `config`, which is valid, goes over these ranks. kUsage: how long its step takes is unknown,
/// and why, in a phrase: nothing is known of the link, or it does not cover a transfer.
[[nodiscard]] Result<Forecast> forecastOf(const run::RunConfig& config, const PlanTimes& times);

/// Rows for one rank and powers of two up to `most`; none where nothing is known of the link.
[[nodiscard]] std::vector<ProjectionRow> projectModel(const run::RunConfig& config,
                                                      const PlanTimes& times, Scaled scaled,
                                                      std::int32_t most);

/// Why a projection has no more ranks.
struct ProjectionEnd {
    std::string why;      ///< a phrase; empty: it has as many as were asked for
    bool byLink = false;  ///< a link that is given leads further
};
/// `rows`: at least one, of `config` up to `most`.
[[nodiscard]] ProjectionEnd endOf(const std::vector<ProjectionRow>& rows,
                                  const run::RunConfig& config, const PlanTimes& times,
                                  std::int32_t most);

/// The largest --batch of a strategy that fits; absent: not even one, or the memory is not known.
[[nodiscard]] std::optional<std::int32_t> largestBatch(run::Strategy strategy,
                                                       const ModelPlanInput& input);

/// The largest --context of it that fits, tokens; absent likewise.
[[nodiscard]] std::optional<std::int64_t> largestContext(run::Strategy strategy,
                                                         const ModelPlanInput& input);

/// The fewest ranks, powers of two times those given, over which it fits; absent: up to
/// kMostPlannedRanks none.
[[nodiscard]] std::optional<std::int32_t> fewestRanksOf(run::Strategy strategy,
                                                        const ModelPlanInput& input);

/// How far a strategy goes in the memory of the input.
struct StrategyLimits {
    run::Strategy strategy = run::Strategy::kSingle;
    std::optional<std::int32_t> batch;
    std::optional<std::int32_t> ranks;  ///< fewest: one, or powers of two
    std::optional<std::int64_t> context;
};
/// Of the strategies that planModel() has, in its order; none where the memory is not known.
[[nodiscard]] std::vector<StrategyLimits> limitsOf(const ModelPlanInput& input);

// What people reckon with instead of a formula, to be shown beside the exact figure with its error.

/// Bytes a parameter that training keeps, over all ranks.
struct RuleOfThumb {
    double bytesPerParameter = 0;
    const char* what = "";
    const char* source = "";
};
inline constexpr std::array kRulesOfThumb{
    RuleOfThumb{16, "2 + 2 + 12: narrow parameters and gradients, Adam with an fp32 master",
                "ZeRO, Rajbhandari et al., arXiv 1910.02054, section 3.1"},
    RuleOfThumb{18, "6 + 4 + 8: fp32 and narrow parameters, fp32 gradients, Adam",
                "Hugging Face Transformers, Model training anatomy"},
};

}  // namespace shardscope::planning
