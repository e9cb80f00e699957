#include "profiler/planning/forecast.h"

#include "engine/run/config/run_rules.h"
#include "engine/run/theory/theory.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace shardscope::planning {
namespace {

using run::RunConfig;

Duration times(Duration time, double factor) {
    return {static_cast<std::int64_t>(static_cast<double>(time.ns) * factor)};
}

std::int32_t membersOf(const RunConfig& config, Among among) {
    const std::int32_t shard = theory::shardRanks(config);
    return among == Among::kShard ? shard : config.ranks / shard;
}

PlayedStep played(const RunConfig& config, const ForecastInput& input,
                  const std::vector<StepTask>& tasks, double factor) {
    const CarriedTimes carried(input.times, config, input.ranksOnHost);
    StepCosts costs;
    costs.computing = [&](const StepTask& task) { return times(carried.of(task), factor); };
    costs.moving = [&](const StepTask& task) {
        if (input.link == nullptr) return Duration{};
        return input.link->of(task.operation, membersOf(config, task.among), task.size);
    };
    costs.wake = input.times.wake;
    costs.rest = carried.rest();
    return playStep(tasks, costs);
}

}  // namespace

Forecast forecast(const RunConfig& config, const ForecastInput& input) {
    const std::vector<StepTask> tasks = stepTasks(config, kPlayedSteps);
    Forecast made;
    made.step = played(config, input, tasks, 1);
    made.low = played(config, input, tasks, input.times.low).time;
    made.high = played(config, input, tasks, input.times.high).time;
    if (made.step.time.ns > 0)
        made.tokensPerSecond =
            static_cast<double>(theory::tokensPerStep(config)) / made.step.time.seconds();
    return made;
}

std::optional<double> tippingTokens(const RunConfig& config, const ForecastInput& input) {
    const PlayedStep step = forecast(config, input).step;
    if (step.moving.ns == 0) return std::nullopt;
    RunConfig more = config;
    more.batch *= 2;
    const double perStep = static_cast<double>(theory::tokensPerStep(config)) / config.ranks;
    const double slope =
        (forecast(more, input).step.computing - step.computing).seconds() / perStep;
    if (slope <= 0) return std::nullopt;
    const double fixed = step.computing.seconds() - slope * perStep;
    const double tokens = (step.moving.seconds() - fixed) / slope;
    if (tokens < static_cast<double>(config.model.context)) return std::nullopt;
    return tokens;
}

RunConfig overRanks(RunConfig config, std::int32_t ranks, run::Strategy several) {
    config.ranks = ranks;
    config.strategy = ranks == 1 ? run::Strategy::kSingle : several;
    return run::settled(config, config);
}

std::vector<ProjectionRow> project(const RunConfig& config, Scaled scaled, std::int32_t most,
                                   const std::function<Forecast(const RunConfig&)>& forecastOf) {
    const std::int64_t all = std::int64_t{config.batch} * config.ranks;
    std::vector<ProjectionRow> rows;
    for (std::int32_t ranks = 1; ranks <= most; ranks *= 2) {
        if (scaled == Scaled::kStrong && all % ranks != 0) break;
        RunConfig own = overRanks(config, ranks, config.strategy);
        constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
        if (scaled == Scaled::kStrong)
            own.batch = static_cast<std::int32_t>(std::min(all / ranks, kMost));
        if (!run::validate(own)) continue;
        ProjectionRow row{ranks, forecastOf(own), 1};
        const double alone =
            rows.empty() ? row.forecast.tokensPerSecond : rows.front().forecast.tokensPerSecond;
        row.efficiency = row.forecast.tokensPerSecond / alone / ranks;
        rows.push_back(row);
    }
    return rows;
}

}  // namespace shardscope::planning
