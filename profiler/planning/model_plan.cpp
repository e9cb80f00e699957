#include "profiler/planning/model_plan.h"

#include "engine/run/config/run_rules.h"
#include "engine/run/theory/theory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardscope::planning {
namespace {

using run::RunConfig;
using run::Strategy;

constexpr std::int32_t kMostBatch = 1 << 20;  ///< of the option
constexpr std::int64_t kMostContext = 1 << 20;

/// Simplest first; of the DDP variants the one that hides most.
constexpr Strategy kBySimplicity[] = {
    Strategy::kSingle,  Strategy::kDdpBucket, Strategy::kDdpOverlap,
    Strategy::kDdpFlat, Strategy::kDdpNaive,  Strategy::kZero1,
    Strategy::kZero2,   Strategy::kHsdp,      Strategy::kZero3};

/// Without what is of other strategies only; absent: a run cannot have it so.
std::optional<RunConfig> with(RunConfig config, Strategy strategy) {
    if ((strategy == Strategy::kSingle) != (config.ranks == 1)) return std::nullopt;
    config.strategy = strategy;
    config = run::settled(config, config);
    if (!run::validate(config)) return std::nullopt;
    return config;
}

double peakBytes(const RunConfig& config) {
    const Bytes outside = config.device == run::Device::kCuda ? kOutsideAllocator : Bytes{};
    return static_cast<double>((theory::total(theory::memoryTheory(config)) + outside).count);
}

bool fits(const RunConfig& config, Bytes memory) {
    return peakBytes(config) <= static_cast<double>(memory.count);
}

/// The largest value from 1 to `most` that fits, where what needs more memory is larger.
template <class Number>
std::optional<Number> largest(Number most, Strategy strategy, const ModelPlanInput& input,
                              void (*set)(RunConfig&, Number)) {
    const auto possible = [&](Number value) {
        RunConfig config = input.config;
        set(config, value);
        const auto tried = with(std::move(config), strategy);
        return tried && input.memory && fits(*tried, *input.memory);
    };
    if (!possible(1)) return std::nullopt;
    Number low = 1, high = most;
    while (low < high) {
        const Number middle = low + (high - low + 1) / 2;
        possible(middle) ? low = middle : high = middle - 1;
    }
    return low;
}

ForecastInput forecastInput(const RunConfig& config, const PlanTimes& times) {
    const std::int32_t onHost = std::min(times.ranksOnHost, config.ranks);
    return {timesFor(times, onHost), times.link ? &*times.link : nullptr, onHost};
}

std::string whyNot(Strategy strategy, const ModelPlanInput& input, double peak) {
    std::string text = fmt::format("Its peak is {:.0f} % of the memory",
                                   100 * peak / static_cast<double>(input.memory->count));
    if (const auto batch = largestBatch(strategy, input))
        return text + fmt::format("; a batch of {} fits.", *batch);
    if (const auto ranks = fewestRanksOf(strategy, input))
        return text + fmt::format("; it fits over {} ranks.", *ranks);
    return text + "; neither a batch of 1 nor more ranks are enough.";
}

StrategyPlan planOf(const RunConfig& config, const ModelPlanInput& input) {
    StrategyPlan plan;
    plan.word = toWord(config.strategy);
    plan.name = entryOf(config.strategy)->name;
    plan.stateBytesPerRank = static_cast<double>(theory::stateTheory(config).count);
    plan.peakBytesPerRank = peakBytes(config);
    plan.communicationBytesPerStep = static_cast<double>(theory::trafficPerStep(config).count);
    if (input.memory) plan.fits = fitsInto(plan, *input.memory);
    if (input.times) {
        if (auto made = forecastOf(config, *input.times)) {
            plan.forecast = std::move(*made);
            plan.tippingTokens = tippingTokens(config, forecastInput(config, *input.times));
        } else {
            plan.timeUnknown = made.error().message;
        }
    }
    if (!plan.fits.value_or(true))
        plan.reason = whyNot(config.strategy, input, *plan.peakBytesPerRank);
    return plan;
}

}  // namespace

Result<Forecast> forecastOf(const RunConfig& config, const PlanTimes& times) {
    if (config.tensor > 1) return failure(ErrorCode::kUsage, kSharedLayersUnknown);
    if (config.ranks > 1 && !times.link)
        return failure(ErrorCode::kUsage, "nothing is known of the link between ranks");
    if (config.ranks > mostForecast(times))
        return failure(ErrorCode::kUsage,
                       fmt::format("the link joins {} ranks at most, and nothing is known of the "
                                   "one between hosts",
                                   mostForecast(times)));
    Forecast made = forecast(config, forecastInput(config, times));
    if (!made.unknown.empty()) return failure(ErrorCode::kUsage, made.unknown);
    return made;
}

std::vector<ProjectionRow> projectModel(const RunConfig& config, const PlanTimes& times,
                                        Scaled scaled, std::int32_t most) {
    if (!times.link) return {};
    return project(config, scaled, std::min(most, mostForecast(times)),
                   [&](const RunConfig& own) { return forecastOf(own, times); });
}

ProjectionEnd endOf(const std::vector<ProjectionRow>& rows, const RunConfig& config,
                    const PlanTimes& times, std::int32_t most) {
    const std::int32_t next = 2 * rows.back().ranks;
    if (next > most) return {};
    const RunConfig more = overRanks(config, next, config.strategy);
    if (run::validate(more))
        if (const auto made = forecastOf(more, times); !made) return {made.error().message, true};
    return {"over more ranks the same model has less than a sequence or a part of a layer for each",
            false};
}

std::vector<StrategyPlan> planModel(const ModelPlanInput& input) {
    std::vector<StrategyPlan> plans;
    for (const Strategy strategy : kBySimplicity)
        if (const auto config = with(input.config, strategy))
            plans.push_back(planOf(*config, input));
    recommend(plans);
    return plans;
}

std::optional<std::int32_t> largestBatch(Strategy strategy, const ModelPlanInput& input) {
    return largest<std::int32_t>(
        kMostBatch, strategy, input,
        [](RunConfig& config, std::int32_t batch) { config.batch = batch; });
}

std::optional<std::int64_t> largestContext(Strategy strategy, const ModelPlanInput& input) {
    return largest<std::int64_t>(
        kMostContext, strategy, input,
        [](RunConfig& config, std::int64_t context) { config.model.context = context; });
}

std::vector<StrategyLimits> limitsOf(const ModelPlanInput& input) {
    std::vector<StrategyLimits> all;
    if (!input.memory) return all;
    ModelPlanInput few = input;
    few.config.ranks = input.config.ranks == 1 ? 1 : 2;
    // Whatever divides the state among ranks, one that it fits on needs no others.
    RunConfig alone = input.config;
    alone.ranks = 1;
    const auto single = with(std::move(alone), Strategy::kSingle);
    const bool fitsOne = single && fits(*single, *input.memory);
    for (const Strategy strategy : kBySimplicity)
        if (with(input.config, strategy))
            all.push_back({strategy, largestBatch(strategy, input),
                           fitsOne ? std::optional<std::int32_t>(1) : fewestRanksOf(strategy, few),
                           largestContext(strategy, input)});
    return all;
}

std::optional<std::int32_t> fewestRanksOf(Strategy strategy, const ModelPlanInput& input) {
    for (std::int32_t ranks = input.config.ranks; ranks <= kMostPlannedRanks; ranks *= 2) {
        RunConfig config = input.config;
        config.ranks = ranks;
        const auto tried = with(std::move(config), strategy);
        if (tried && input.memory && fits(*tried, *input.memory)) return ranks;
    }
    return std::nullopt;
}

}  // namespace shardscope::planning
