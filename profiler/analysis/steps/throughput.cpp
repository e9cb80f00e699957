#include "profiler/analysis/steps/throughput.h"

#include "engine/run/config/run_config.h"
#include "engine/run/theory/theory.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/part.h"
#include "storage/model/detail.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace shardscope::analysis {
namespace {

constexpr std::size_t kWarmupSteps = 2;
constexpr std::size_t kStepsToSpareWarmup = 5;

std::map<StepIndex, WholeStep> wholeSteps(const RecordingSummary& summary,
                                          const std::vector<RankId>& ofRanks = {}) {
    std::map<StepIndex, WholeStep> steps;
    for (const StepFacts& facts : summary.steps) {
        if (!ofRanks.empty() &&
            std::find(ofRanks.begin(), ofRanks.end(), facts.rank) == ofRanks.end())
            continue;
        WholeStep& step = steps[facts.step];
        if (step.ranks == 0) step.range = facts.range();
        step.range.begin = std::min(step.range.begin, facts.start);
        step.range.end = std::max(step.range.end, facts.end);
        step.tokens += facts.tokens;
        ++step.ranks;
    }
    // A step that some rank never finished says nothing about speed. Of a trace of some ranks, or
    // where some are selected, these are all there are.
    const auto ranks = !ofRanks.empty()        ? static_cast<std::int32_t>(ofRanks.size())
                       : summary.ranks.empty() ? summary.run.worldSize
                                               : static_cast<std::int32_t>(summary.ranks.size());
    std::erase_if(steps, [&](const auto& step) { return step.second.ranks < ranks; });
    return steps;
}

/// Tokens of all of them over the time that they and what lies between them took; nothing where
/// others lie between them.
std::optional<double> wholeRate(const std::map<StepIndex, WholeStep>& steps) {
    if (steps.empty()) return std::nullopt;
    const auto span = steps.rbegin()->first.value - steps.begin()->first.value + 1;
    if (static_cast<std::size_t>(span) != steps.size()) return std::nullopt;
    TimeRange all = steps.begin()->second.range;
    std::int64_t tokens = 0;
    for (const auto& [index, step] : steps) {
        all = {std::min(all.begin, step.range.begin), std::max(all.end, step.range.end)};
        tokens += step.tokens;
    }
    if (tokens <= 0 || all.duration().ns <= 0) return std::nullopt;
    return static_cast<double>(tokens) / all.duration().seconds();
}

}  // namespace

std::set<StepIndex> stepsSetAside(const RecordingSummary& summary,
                                  const std::vector<RankEvents>& ranks) {
    std::map<RankId, std::map<StepIndex, TimeRange>> ranges;
    for (const StepFacts& facts : summary.steps) ranges[facts.rank][facts.step] = facts.range();
    std::set<StepIndex> aside;
    for (const RankEvents& events : ranks) {
        const auto& own = ranges[events.rank];
        for (const SpanEvent& phase : events.phases) {
            const auto step = own.find(phase.step);
            if (setsAside(phase.phase) && step != own.end() &&
                step->second.intersects(phase.range()))
                aside.insert(phase.step);
        }
    }
    // Where phases were not recorded a validation pass is known by what came of it.
    for (const MetricPoint& metric : summary.metrics) {
        if (metric.name != "validation_loss") continue;
        for (const auto& [rank, own] : ranges)
            if (const auto step = own.find(metric.step);
                step != own.end() && step->second.contains(metric.time))
                aside.insert(metric.step);
    }
    return aside;
}

SteadySteps steadySteps(const RecordingSummary& summary, const std::vector<RankEvents>& ranks) {
    SteadySteps steady;
    std::map<StepIndex, WholeStep> steps = wholeSteps(summary);
    const std::size_t before = stepsBefore(summary);
    const std::size_t warmup = before < kWarmupSteps ? kWarmupSteps - before : 0;
    if (steps.size() >= kStepsToSpareWarmup) {
        steps.erase(steps.begin(), std::next(steps.begin(), static_cast<std::ptrdiff_t>(warmup)));
        steady.warmupStepsLeftOut = static_cast<std::int32_t>(warmup);
    }
    const std::set<StepIndex> aside = stepsSetAside(summary, ranks);
    for (const auto& [index, step] : steps)
        if (!aside.contains(index)) steady.steps[index] = step;
    // Those count only when there is no other.
    if (steady.steps.empty()) steady.steps = std::move(steps);
    return steady;
}

SteadySteps steadyWithDetail(const RecordingSummary& summary,
                             const std::vector<RankEvents>& ranks) {
    SteadySteps steady = steadySteps(summary, ranks);
    const StepDetail detail(summary.detail);
    for (const StepFacts& facts : summary.steps)
        if (detail.of(facts.rank, facts.step) < CaptureLevel::kLight)
            steady.steps.erase(facts.step);
    return steady;
}

std::map<StepIndex, double> throughputByStep(const RecordingSummary& summary,
                                             const std::vector<RankId>& ranks) {
    std::map<StepIndex, double> found;
    for (const auto& [index, step] : wholeSteps(summary, ranks))
        if (step.tokens > 0 && step.range.duration().ns > 0)
            found[index] = static_cast<double>(step.tokens) / step.range.duration().seconds();
    return found;
}

Throughput measureThroughput(const RecordingSummary& summary,
                             const std::vector<RankEvents>& ranks) {
    Throughput result;
    const SteadySteps steady = steadySteps(summary, ranks);
    if (steady.steps.empty()) return result;
    result.warmupStepsLeftOut = steady.warmupStepsLeftOut;
    result.steps = static_cast<std::int32_t>(steady.steps.size());
    std::vector<double> seconds, rates;
    for (const auto& [index, step] : steady.steps) {
        const double time = step.range.duration().seconds();
        seconds.push_back(time);
        if (step.tokens > 0 && time > 0) rates.push_back(static_cast<double>(step.tokens) / time);
    }
    result.stepSecondsMedian = medianOf(seconds);
    if (!rates.empty()) result.tokensPerSecond = medianOf(std::move(rates));
    result.wholeTokensPerSecond = wholeRate(wholeSteps(summary));
    return result;
}

Mfu peakOfRanks(const RecordingSummary& summary) {
    Mfu mfu;
    double peak = 0;
    for (const RankFacts& rank : summary.ranks) {
        if (!rank.peakFlops) {
            mfu.reason =
                fmt::format("rank {} has no known peak: {}", rank.rank.value,
                            rank.peakSource.empty() ? "none was reported" : rank.peakSource);
            return mfu;
        }
        peak += *rank.peakFlops;
        if (mfu.peakSource.empty()) mfu.peakSource = rank.peakSource;
        mfu.unsure = mfu.unsure || rank.peakSource.starts_with(kUnsurePeak);
    }
    if (summary.ranks.empty() ||
        static_cast<std::int32_t>(summary.ranks.size()) < summary.run.worldSize) {
        mfu.reason = fmt::format("it is of all ranks, and {} of {} are here", summary.ranks.size(),
                                 summary.run.worldSize);
        return mfu;
    }
    mfu.peakFlops = peak;
    return mfu;
}

Mfu modelFlopsUtilisation(const RecordingSummary& summary, std::optional<double> tokensPerSecond) {
    Mfu mfu = peakOfRanks(summary);
    if (!mfu.peakFlops) return mfu;
    const double peak = *mfu.peakFlops;
    const auto config = run::parseRunConfigJson(summary.run.configJson);
    if (!config) {
        mfu.reason = "the run's configuration cannot be read: " + config.error().message;
    } else if (!tokensPerSecond) {
        mfu.reason = "no step that was finished by all ranks says how many tokens it has";
    } else if (peak > 0) {
        mfu.value = *tokensPerSecond * theory::palmFlopsPerToken(config->model) / peak;
    } else {
        mfu.reason = "the reported peak is zero";
    }
    return mfu;
}

}  // namespace shardscope::analysis
