#include "profiler/planning/compute_parts.h"

#include "engine/run/config/model_tensors.h"
#include "engine/run/theory/model_theory.h"
#include "profiler/analysis/intervals.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace shardscope::planning {
namespace {

using Shares = std::array<double, static_cast<std::size_t>(Part::kCount)>;

/// FLOPs of a step by part, as shares of all.
Shares sharesOf(const run::RunConfig& config) {
    const auto flops = theory::forwardFlopsPerToken(config.model, theory::AttentionCount::kCausal);
    const double recomputed =
        static_cast<double>(recomputedBlocks(config)) / static_cast<double>(config.model.layers);
    Shares shares{};
    shares[placeOf(Part::kBlock)] = flops.blocks();
    shares[placeOf(Part::kBlockBackward)] = 2 * flops.blocks();
    shares[placeOf(Part::kRecompute)] = recomputed * flops.blocks();
    shares[placeOf(Part::kHead)] = 3 * flops.head * headPasses(config);
    double all = 0;
    for (const double share : shares) all += share;
    for (double& share : shares) share /= all;
    return shares;
}

}  // namespace

Part partOf(Phase phase, LayerIndex layer) {
    const bool root = layer == kRootLayer;
    switch (phase) {
        case Phase::kData:
            return Part::kData;
        case Phase::kForward:
            return root ? Part::kEmbed : Part::kBlock;
        case Phase::kBackward:
            return root ? Part::kEmbedBackward : Part::kBlockBackward;
        case Phase::kHead:
            return Part::kHead;
        case Phase::kRecompute:
            return Part::kRecompute;
        case Phase::kClip:
            return Part::kClip;
        case Phase::kOptimizer:
            return Part::kOptimizer;
        default:
            return Part::kRest;
    }
}

std::map<StepIndex, Parts> hostParts(const RecordingSummary& summary, const RankEvents& events,
                                     const analysis::SteadySteps& steady) {
    std::map<StepIndex, Parts> steps;
    if (events.phases.empty()) return steps;
    for (const StepFacts& step : summary.steps)
        if (step.rank == events.rank && steady.steps.contains(step.step))
            steps[step.step][placeOf(Part::kRest)] = step.range().duration();
    for (const SpanEvent& span : events.phases) {
        const auto found = steps.find(span.step);
        if (found == steps.end()) continue;
        const Part part = partOf(span.phase, span.layer);
        if (part == Part::kRest && !isWait(span.phase)) continue;
        Parts& parts = found->second;
        if (part != Part::kRest) parts[placeOf(part)] += span.duration;
        parts[placeOf(Part::kRest)] -= span.duration;
    }
    return steps;
}

std::map<StepIndex, Parts> deviceParts(const RecordingSummary& summary, const RankEvents& events,
                                       const analysis::SteadySteps& steady,
                                       const run::RunConfig& config) {
    std::map<StepIndex, Parts> steps;
    if (events.computeKernels.empty()) return steps;
    const Shares shares = sharesOf(config);
    const analysis::Intervals computing = analysis::unionOf(events.computeKernels);
    const analysis::Intervals busy =
        analysis::unionOf(computing, analysis::unionOf(events.communicationKernels));
    for (const StepFacts& step : summary.steps) {
        if (step.rank != events.rank || !steady.steps.contains(step.step)) continue;
        const TimeRange range = step.range();
        const double time = static_cast<double>(analysis::total(computing, range).ns);
        Parts& parts = steps[step.step];
        for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = {std::llround(shares[i] * time)};
        parts[placeOf(Part::kRest)] = range.duration() - analysis::total(busy, range);
    }
    return steps;
}

std::vector<Duration> wakes(const RankEvents& events) {
    std::vector<Timestamp> ends;
    for (const CollectiveEvent& each : events.collectives) ends.push_back(each.end);
    std::sort(ends.begin(), ends.end());
    std::vector<Duration> found;
    for (const SpanEvent& span : events.phases) {
        if (!isWait(span.phase)) continue;
        const auto after = std::upper_bound(ends.begin(), ends.end(), span.end());
        if (after == ends.begin()) continue;
        const Timestamp end = *std::prev(after);
        if (end >= span.start) found.push_back(span.end() - end);
    }
    return found;
}

double headPasses(const run::RunConfig& config) {
    return run::vocabularyPieces(config).count > 1 ? 4.0 / 3 : 1;
}

std::int64_t recomputedBlocks(const run::RunConfig& config) {
    if (config.recomputeEvery == 0) return 0;
    return (config.model.layers + config.recomputeEvery - 1) / config.recomputeEvery;
}

}  // namespace shardscope::planning
