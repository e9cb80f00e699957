#include "profiler/analysis/loss_curves.h"

#include "profiler/analysis/difference.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/slow_steps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

namespace shardscope::analysis {
namespace {

std::map<StepIndex, double> lossesOf(const RecordingSummary& summary) {
    std::map<StepIndex, double> losses;
    for (const MetricPoint& point : summary.metrics)
        if (point.name == "loss" && point.step != kNoStep) losses[point.step] = point.value;
    return losses;
}

/// Of steps whose losses are numbers.
std::optional<double> noiseOf(const std::vector<LossPair>& steps,
                              std::optional<double> LossPair::*side) {
    std::vector<double> distances;
    std::optional<double> before;
    for (const LossPair& pair : steps) {
        const auto& loss = pair.*side;
        if (!loss) continue;
        if (before) distances.push_back(std::abs(*loss - *before));
        before = loss;
    }
    if (distances.size() + 1 < kLeastSamples) return std::nullopt;
    return kNormalSpread / std::numbers::sqrt2 * medianOf(std::move(distances));
}

bool isEqual(const LossPair& pair) {
    return pair.first == pair.second;  // both absent: neither is a number
}

bool isApart(const LossPair& pair, std::optional<double> noise) {
    const auto difference = pair.difference();
    if (!difference) return !isEqual(pair);
    return noise && std::abs(*difference) > kApartSpreads * *noise;
}

}  // namespace

LossCurves lossCurves(const RecordingSummary& first, const RecordingSummary& second) {
    LossCurves curves;
    const auto others = lossesOf(second);
    const auto finite = [](double loss) {
        return std::isfinite(loss) ? std::optional(loss) : std::nullopt;
    };
    for (const auto& [step, loss] : lossesOf(first))
        if (const auto other = others.find(step); other != others.end())
            curves.steps.push_back({step, finite(loss), finite(other->second)});
    const auto one = noiseOf(curves.steps, &LossPair::first);
    const auto other = noiseOf(curves.steps, &LossPair::second);
    if (one && other) curves.noise = std::hypot(*one, *other);
    for (const LossPair& pair : curves.steps) {
        if (!curves.differs && !isEqual(pair)) curves.differs = pair.step;
        if (!curves.apart && isApart(pair, curves.noise)) curves.apart = pair.step;
        if (const auto difference = pair.difference())
            curves.largest = std::max(curves.largest, std::abs(*difference));
    }
    return curves;
}

}  // namespace shardscope::analysis
