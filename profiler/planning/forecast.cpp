#include "profiler/planning/forecast.h"

#include "engine/run/config/run_rules.h"
#include "engine/run/theory/theory.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <set>
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

/// The largest of so many standard normal values, as expected (Tippett 1925).
double expectedLargest(std::int32_t count) {
    constexpr std::pair<std::int32_t, double> kKnown[] = {
        {1, 0},       {2, 0.5642},  {3, 0.8463},  {4, 1.0294},   {6, 1.2672},   {8, 1.4236},
        {16, 1.7660}, {32, 2.0697}, {64, 2.3437}, {128, 2.5938}, {1024, 3.2414}};
    const auto* above = std::find_if(std::begin(kKnown), std::end(kKnown),
                                     [count](const auto& each) { return each.first >= count; });
    if (above == std::end(kKnown)) return std::rbegin(kKnown)->second;
    if (above == std::begin(kKnown) || above->first == count) return above->second;
    const auto* below = std::prev(above);
    const double share = std::log(static_cast<double>(count) / below->first) /
                         std::log(static_cast<double>(above->first) / below->first);
    return below->second + share * (above->second - below->second);
}

/// Waiting for the slowest of so many ranks, over computing.
double latenessOf(std::int32_t ranks, const ComputeTimes& times) {
    const double recorded = expectedLargest(times.config.ranks);
    return recorded > 0 ? times.lateness * expectedLargest(ranks) / recorded : 0;
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
    PlayedStep step = playStep(tasks, costs);
    step.late = times(step.computing, latenessOf(config.ranks, input.times));
    step.time += step.late;
    return step;
}

/// Of the transfers that the link's fit does not cover the largest; empty: it covers all.
std::string uncovered(const RunConfig& config, const ForecastInput& input,
                      const std::vector<StepTask>& tasks) {
    if (input.link == nullptr) return {};
    const StepTask* largest = nullptr;
    for (const StepTask& task : tasks) {
        if (task.kind != StepTask::Kind::kAsk) continue;
        if (largest != nullptr && task.size <= largest->size) continue;
        if (!input.link->covers(task.operation, membersOf(config, task.among), task.size))
            largest = &task;
    }
    if (largest == nullptr) return {};
    return input.link->whyUnknown(largest->operation, membersOf(config, largest->among),
                                  largest->size);
}

/// Where the recorded step cannot be played it is taken to be played without an error.
Band bandAround(const PlayedStep& step, const RunConfig& config, const ForecastInput& input) {
    const ComputeTimes& times = input.times;
    const Duration recorded = *times.recorded, own = times.replayed.value_or(recorded);
    if (own.ns <= 0 || step.time.ns <= 0) return bandOf(step.time, step.time, times.spread, 0);
    const bool isCrowd = std::min(config.ranks, input.ranksOnHost) != times.ranksOnHost;
    return bandOf(step.time, own, times.spread, own.seconds() / recorded.seconds() - 1,
                  isCrowd ? kCrowdingError : 0);
}

using run::Strategy;

class Search {
public:
    Search(const ComputeTimes& times, const LinkTimes* link) : m_times(times), m_link(link) {
        m_made.recorded = of(own());
    }

    Alternatives run() {
        ranks();
        if (own().ranks > 1) {
            links();
            strategies();
            prefetch();
        }
        batch();
        memory();
        return std::move(m_made);
    }

private:
    [[nodiscard]] const RunConfig& own() const { return m_times.config; }

    [[nodiscard]] Forecast of(const RunConfig& config, const LinkTimes* link) const {
        // Hosts stay as full as they were: all on one, or more of them.
        const bool oneHost = m_times.ranksOnHost == own().ranks;
        const std::int32_t onHost = oneHost ? config.ranks : m_times.ranksOnHost;
        return forecast(config, {m_times, link, onHost});
    }
    [[nodiscard]] Forecast of(const RunConfig& config) const { return of(config, m_link); }

    void add(Varied varied, std::string text, RunConfig config) {
        if (config.ranks > 1 && m_link == nullptr) return;
        if (config == own() || !run::validate(config)) return;
        Forecast made = of(config);
        if (!made.unknown.empty())
            return m_made.unknown.push_back({varied, std::move(text), std::move(made.unknown)});
        m_made.all.push_back({varied, std::move(text), std::move(config), std::move(made)});
    }

    /// A change of the recorded settings, with what does not apply any more left out.
    void change(Varied varied, std::string text, const std::function<void(RunConfig&)>& apply) {
        RunConfig config = own();
        apply(config);
        add(varied, std::move(text), run::settled(config, config));
    }

    void ranks() {
        const std::int32_t now = own().ranks;
        const Strategy several =
            own().strategy == Strategy::kSingle ? Strategy::kZero3 : own().strategy;
        for (const std::int32_t count :
             std::set{1, std::max(1, now / 2), now * 2, now * 4, now * 8})
            add(Varied::kRanks, fmt::format("{} rank{}", count, count == 1 ? "" : "s"),
                overRanks(own(), count, several));
    }

    void links() {
        if (m_link == nullptr) return;
        const auto with = [&](const char* text, double latency, double bandwidth) {
            const LinkTimes other = m_link->scaled(latency, bandwidth);
            Forecast made = of(own(), &other);
            if (!made.unknown.empty())
                m_made.unknown.push_back({Varied::kLink, text, made.unknown});
            else
                m_made.all.push_back({Varied::kLink, text, own(), std::move(made)});
        };
        with("bandwidth x 2", 1, 2);
        with("bandwidth x 10", 1, 10);
        with("bandwidth / 2", 1, 0.5);
        with("no latency", 0, 1);
        with("latency x 10", 10, 1);
        with("communication takes no time", 0, 1e9);
    }

    void strategies() {
        for (const Strategy strategy : kAll<Strategy>)
            if (strategy != Strategy::kSingle)
                change(Varied::kStrategy, toWord(strategy),
                       [strategy](RunConfig& c) { c.strategy = strategy; });
    }

    void prefetch() {
        if (!run::whyNot(own(), "prefetch").empty()) return;
        for (const std::int32_t count : {0, 1, 2, 4})
            change(Varied::kPrefetch, fmt::format("prefetch {}", count),
                   [count](RunConfig& c) { c.prefetch = count; });
    }

    void batch() {
        for (const std::int32_t factor : {2, 4})
            change(Varied::kBatch, fmt::format("batch {}", own().batch * factor),
                   [factor](RunConfig& c) { c.batch *= factor; });
        for (const std::int32_t factor : {2, 4})
            change(Varied::kBatch, fmt::format("{} micro-steps", own().accumulate * factor),
                   [factor](RunConfig& c) { c.accumulate *= factor; });
    }

    void memory() {
        if (own().recomputeEvery == 0) {
            change(Varied::kMemory, "every block computed again",
                   [](RunConfig& c) { c.recomputeEvery = 1; });
        } else {
            change(Varied::kMemory, "no block computed again",
                   [](RunConfig& c) { c.recomputeEvery = 0; });
        }
        if (!run::whyNot(own(), "keep_gathered").empty()) return;
        change(Varied::kMemory, "gathered until backward",
               [](RunConfig& c) { c.reshardAfterForward = false; });
        change(Varied::kMemory, "gathered for the whole step",
               [](RunConfig& c) { c.keepGathered = true; });
    }

    const ComputeTimes& m_times;
    const LinkTimes* const m_link;
    Alternatives m_made;
};

}  // namespace

Band bandOf(Duration estimated, Duration played, double spread, double error, double more) {
    const double away = estimated.ns > 0 && played.ns > 0
                            ? kTransferError * std::log(estimated.seconds() / played.seconds())
                            : 0;
    const double off =
        1.2816 * std::sqrt(2 * spread * spread + error * error + away * away + more * more);
    return {times(estimated, 1 - std::min(off, 0.9)), times(estimated, 1 + off)};
}

Forecast forecast(const RunConfig& config, const ForecastInput& input) {
    const std::vector<StepTask> tasks = stepTasks(config, kPlayedSteps);
    Forecast made;
    made.step = played(config, input, tasks, 1);
    made.unknown = uncovered(config, input, tasks);
    if (input.times.recorded) {
        const Band band = bandAround(made.step, config, input);
        made.low = band.low;
        made.high = band.high;
    } else {
        made.low = played(config, input, tasks, input.times.low).time;
        made.high = played(config, input, tasks, input.times.high).time;
    }
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

std::vector<ProjectionRow> project(
    const RunConfig& config, Scaled scaled, std::int32_t most,
    const std::function<Result<Forecast>(const RunConfig&)>& forecastOf) {
    const std::int64_t all = std::int64_t{config.batch} * config.ranks;
    std::vector<ProjectionRow> rows;
    for (std::int32_t ranks = 1; ranks <= most; ranks *= 2) {
        if (scaled == Scaled::kStrong && all % ranks != 0) break;
        RunConfig own = overRanks(config, ranks, config.strategy);
        constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
        if (scaled == Scaled::kStrong)
            own.batch = static_cast<std::int32_t>(std::min(all / ranks, kMost));
        if (!run::validate(own)) continue;
        auto made = forecastOf(own);
        if (!made) continue;
        ProjectionRow row{ranks, std::move(*made), 1};
        const double alone =
            rows.empty() ? row.forecast.tokensPerSecond : rows.front().forecast.tokensPerSecond;
        row.efficiency = row.forecast.tokensPerSecond / alone / ranks;
        rows.push_back(row);
    }
    return rows;
}

Alternatives alternativesOf(const ComputeTimes& times, const LinkTimes* link) {
    return Search(times, link).run();
}

}  // namespace shardscope::planning
