#include "profiler/analysis/steps/training_health.h"

#include "profiler/analysis/compare/difference.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/steps/slow_steps.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <string_view>
#include <utility>

namespace shardscope::analysis {
namespace {

std::vector<MetricPoint> pointsOf(const RecordingSummary& summary, std::string_view name) {
    std::vector<MetricPoint> points;
    for (const MetricPoint& point : summary.metrics)
        if (point.name == name) points.push_back(point);
    return points;
}

void takeNotFinite(std::vector<MetricPoint>& points, const char* what, TrainingHealth& health) {
    for (const MetricPoint& point : points)
        if (!std::isfinite(point.value))
            health.moments.push_back(
                {TrainingEvent::kNotFinite, point.step, point.time, point.value, 0, what});
    std::erase_if(points, [](const MetricPoint& point) { return !std::isfinite(point.value); });
}

/// Median of the steps before each; absent for the first ones.
std::vector<std::optional<double>> beforeEach(const std::vector<MetricPoint>& points) {
    std::vector<std::optional<double>> before(points.size());
    for (std::size_t i = kStepsBefore; i < points.size(); ++i) {
        std::vector<double> values;
        for (std::size_t j = i - kStepsBefore; j < i; ++j) values.push_back(points[j].value);
        before[i] = medianOf(std::move(values));
    }
    return before;
}

/// Of one step, from how far neighbours are apart: a trend hardly counts.
double spreadOf(const std::vector<MetricPoint>& points) {
    std::vector<double> distances;
    for (std::size_t i = 1; i < points.size(); ++i)
        distances.push_back(std::abs(points[i].value - points[i - 1].value));
    return kNormalSpread / std::numbers::sqrt2 * medianOf(std::move(distances));
}

struct Threshold {
    TrainingEvent event;
    double least;  ///< value over the median before it
};

void takeOutliers(const std::vector<MetricPoint>& points, Threshold threshold,
                  TrainingHealth& health) {
    const auto before = beforeEach(points);
    if (points.size() < TrainingHealth::kLeastPoints) return;
    const double spread = spreadOf(points);
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (!before[i]) continue;
        const double above = points[i].value - *before[i];
        if (above > kSpikeSpreads * spread && points[i].value > *before[i] * threshold.least &&
            above > 0)
            health.moments.push_back(
                {threshold.event, points[i].step, points[i].time, points[i].value, *before[i]});
    }
}

void takeSkipped(const std::vector<MetricPoint>& scales, TrainingHealth& health) {
    for (std::size_t i = 1; i < scales.size(); ++i)
        if (scales[i].value < scales[i - 1].value)
            health.moments.push_back({TrainingEvent::kSkippedUpdate, scales[i].step, scales[i].time,
                                      scales[i].value, scales[i - 1].value});
}

void takeSlowSteps(const SlowSteps& steps, TrainingHealth& health) {
    health.steps = steps.steps;
    for (const SlowStep& slow : steps.slow)
        health.moments.push_back({TrainingEvent::kSlowStep, slow.step, slow.range.begin,
                                  static_cast<double>(slow.range.duration().ns), steps.medianNs});
}

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

TrainingHealth trainingHealth(const RecordingSummary& summary,
                              const std::vector<RankEvents>& ranks) {
    TrainingHealth health;
    auto losses = pointsOf(summary, "loss"), norms = pointsOf(summary, "gradient_norm");
    health.losses = losses.size();
    health.gradientNorms = norms.size();
    takeNotFinite(losses, "loss", health);
    takeNotFinite(norms, "gradient norm", health);
    takeOutliers(losses, {TrainingEvent::kLossSpike, 1 + kLeastLossSpike}, health);
    takeOutliers(norms, {TrainingEvent::kGradientNorm, kLeastGradientNorm}, health);
    takeSkipped(pointsOf(summary, "loss_scale"), health);
    takeSlowSteps(slowSteps(steadySteps(summary, ranks)), health);
    std::stable_sort(
        health.moments.begin(), health.moments.end(),
        [](const TrainingMoment& a, const TrainingMoment& b) { return a.time < b.time; });
    return health;
}

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
