#include "profiler/analysis/compare/scaling.h"

#include "profiler/analysis/compare/difference.h"
#include "profiler/analysis/findings.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace shardscope::analysis {
namespace {

using Runs = std::vector<ScalingRun>;

std::vector<const ScalingRun*> known(const Runs& runs) {
    std::vector<const ScalingRun*> found;
    for (const ScalingRun& run : runs)
        if (run.missing.empty()) found.push_back(&run);
    return found;
}

/// Of the runs with so many ranks; there is one.
double throughputOf(const std::vector<const ScalingRun*>& runs, std::int32_t ranks) {
    std::vector<double> all;
    for (const ScalingRun* run : runs)
        if (run->ranks == ranks) all.push_back(run->tokensPerSecond);
    return medianOf(std::move(all));
}

std::vector<double> samplesOf(const std::vector<const ScalingRun*>& runs, std::int32_t ranks) {
    std::vector<double> all;
    for (const ScalingRun* run : runs)
        if (run->ranks == ranks) all.insert(all.end(), run->samples.begin(), run->samples.end());
    return all;
}

void setKind(const std::vector<const ScalingRun*>& runs, Scaling& scaling) {
    std::set<std::int32_t> ranks;
    for (const ScalingRun* run : runs) ranks.insert(run->ranks);
    if (ranks.size() < 2) {
        scaling.kindMissing = "it takes recordings with different numbers of ranks";
        return;
    }
    const ScalingRun& first = *runs.front();
    const bool strong = std::all_of(runs.begin(), runs.end(), [&](const ScalingRun* run) {
        return run->tokensPerStep == first.tokensPerStep;
    });
    const bool weak = std::all_of(runs.begin(), runs.end(), [&](const ScalingRun* run) {
        return static_cast<double>(run->tokensPerStep) * first.ranks ==
               static_cast<double>(first.tokensPerStep) * run->ranks;
    });
    if (strong) scaling.kind = ScalingKind::kStrong;
    if (weak) scaling.kind = ScalingKind::kWeak;
    if (!strong && !weak)
        scaling.kindMissing =
            "neither the tokens of a step nor those of a step and rank are the same in all of them";
}

void setEfficiency(const std::vector<const ScalingRun*>& runs, const ScalingRun& run,
                   ScalingKind kind, ScalingPoint& point) {
    const double one = throughputOf(runs, 1), ranks = run.ranks;
    const double times = run.tokensPerSecond / one;
    point.efficiency = times / ranks;
    if (run.ranks == 1) return;
    const Difference difference = differenceOf(samplesOf(runs, 1), run.samples, Better::kHigher);
    if (difference.low && difference.high) {
        point.low = (1 + *difference.low) / ranks;
        point.high = (1 + *difference.high) / ranks;
    }
    if (kind == ScalingKind::kStrong)
        point.serialFraction = (1 / times - 1 / ranks) / (1 - 1 / ranks);
}

std::vector<std::size_t> byRanks(const Runs& runs) {
    std::vector<std::size_t> places(runs.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::stable_sort(places.begin(), places.end(),
                     [&](std::size_t a, std::size_t b) { return runs[a].ranks < runs[b].ranks; });
    return places;
}

/// What a step of the run lacks for its speed to be known.
std::string missingOf(const RecordingSummary& summary, const Throughput& throughput) {
    if (summary.run.worldSize < 1) return "it does not say how many ranks there were";
    if (static_cast<std::int32_t>(summary.ranks.size()) < summary.run.worldSize)
        return fmt::format("it has {} of {} ranks", summary.ranks.size(), summary.run.worldSize);
    if (!throughput.stepSecondsMedian) return "no step was finished by all ranks";
    if (!throughput.tokensPerSecond || *throughput.tokensPerSecond <= 0)
        return "its steps do not say how many tokens they had";
    return {};
}

}  // namespace

ScalingRun scalingRun(const RecordingSummary& summary, const std::vector<RankEvents>& ranks) {
    ScalingRun run;
    run.ranks = summary.run.worldSize;
    const Throughput throughput = measureThroughput(summary, ranks);
    run.missing = missingOf(summary, throughput);
    if (!run.missing.empty()) return run;
    run.stepSeconds = *throughput.stepSecondsMedian;
    run.tokensPerSecond = *throughput.tokensPerSecond;
    std::vector<std::int64_t> tokens;
    for (const auto& [index, step] : steadySteps(summary, ranks).steps) {
        tokens.push_back(step.tokens);
        const double seconds = step.range.duration().seconds();
        if (seconds > 0) run.samples.push_back(static_cast<double>(step.tokens) / seconds);
    }
    run.tokensPerStep = medianOf(std::move(tokens));
    return run;
}

Scaling scalingOf(const std::vector<ScalingRun>& runs) {
    Scaling scaling;
    const auto able = known(runs);
    if (able.empty()) {
        scaling.kindMissing = "of no recording the throughput is known";
    } else {
        setKind(able, scaling);
        scaling.fewest =
            (*std::min_element(able.begin(), able.end(), [](const auto* a, const auto* b) {
                return a->ranks < b->ranks;
            }))->ranks;
    }
    // A batch that differs otherwise changes the work itself, which no number of ranks makes up
    // for.
    if (scaling.kind == ScalingKind::kUnknown)
        scaling.efficiencyMissing = "whether it is strong or weak scaling is not known";
    else if (scaling.fewest != 1)
        scaling.efficiencyMissing = "none of the recordings is of one rank";
    for (const std::size_t place : byRanks(runs)) {
        ScalingPoint point;
        point.run = place;
        if (runs[place].missing.empty()) {
            point.speedup = runs[place].tokensPerSecond / throughputOf(able, scaling.fewest);
            if (scaling.efficiencyMissing.empty())
                setEfficiency(able, runs[place], scaling.kind, point);
        }
        scaling.points.push_back(point);
    }
    return scaling;
}

}  // namespace shardscope::analysis
