#include "profiler/analysis/steps/slow_steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::analysis {
namespace {

/// Where a series begins whose level is looked for: the low one may be that of few values.
constexpr double kLowValues[] = {0.2, 0.5};
/// A value below the threshold weighs this many above it.
constexpr std::int64_t kBelow = 2;

using Places = std::pair<std::size_t, std::size_t>;  ///< half-open

double quantileOf(std::vector<double> values, double share) {
    const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + place, values.end());
    return values[static_cast<std::size_t>(place)];
}

/// The subsequence with most values above `threshold`.
Places mostAbove(const std::vector<double>& values, double threshold) {
    std::int64_t sum = 0, best = 0;
    std::size_t begin = 0;
    Places found;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (sum <= 0) {
            sum = 0;
            begin = i;
        }
        sum += values[i] > threshold ? 1 : -kBelow;
        if (sum <= best) continue;
        best = sum;
        found = {begin, i + 1};
    }
    return found;
}

double halfway(double low, const StretchRule& rule) {
    return low * (1 + rule.leastFactor) / 2;
}

double shareAbove(const std::vector<double>& values, double threshold) {
    const auto above = std::count_if(values.begin(), values.end(),
                                     [threshold](double value) { return value > threshold; });
    return static_cast<double>(above) / static_cast<double>(values.size());
}

/// Values within the stretch, and the others.
std::pair<std::vector<double>, std::vector<double>> split(const std::vector<double>& values,
                                                          Places places) {
    const auto at = [&](std::size_t place) {
        return values.begin() + static_cast<std::ptrdiff_t>(place);
    };
    std::vector<double> outside(values.begin(), at(places.first));
    outside.insert(outside.end(), at(places.second), values.end());
    return {{at(places.first), at(places.second)}, std::move(outside)};
}

/// Halfway between the medians of what is inside and outside.
double middleOf(const std::vector<double>& values, Places places) {
    const auto [inside, outside] = split(values, places);
    return (medianOf(inside) + medianOf(outside)) / 2;
}

bool isStretch(const std::vector<double>& values, Places places) {
    const auto size = places.second - places.first;
    return size >= kLeastInStretch && values.size() - size >= kLeastOutside;
}

std::optional<Stretch> judge(const std::vector<double>& values, Places places,
                             const StretchRule& rule) {
    const auto all = static_cast<double>(values.size());
    const auto size = static_cast<double>(places.second - places.first);
    if (!isStretch(values, places) || size < rule.leastShare * all || size > kMostInStretch * all)
        return std::nullopt;
    const auto [inside, outside] = split(values, places);
    const Stretch stretch{places.first, places.second, medianOf(inside), medianOf(outside)};
    const double threshold = (stretch.inside + stretch.outside) / 2;
    const bool regular = shareAbove(inside, threshold) >= kRegularInStretch &&
                         shareAbove(outside, threshold) <= 1 - kRegularInStretch;
    const bool high = stretch.outside > 0 && stretch.inside >= rule.leastFactor * stretch.outside &&
                      stretch.inside - stretch.outside >=
                          kStretchSpreads * spreadAround(stretch.outside, outside);
    if (!regular || !high) return std::nullopt;
    return stretch;
}

}  // namespace

double spreadAround(double median, std::vector<double> values) {
    for (double& value : values) value = std::abs(value - median);
    return kNormalSpread * medianOf(std::move(values));
}

SlowSteps slowSteps(const SteadySteps& steady) {
    std::vector<SlowStep> compared;
    std::vector<double> times;
    for (const auto& [index, step] : steady.steps) {
        compared.push_back({index, step.range});
        times.push_back(static_cast<double>(step.range.duration().ns));
    }
    SlowSteps slow;
    slow.steps = compared.size();
    if (times.empty()) return slow;
    slow.medianNs = medianOf(times);
    slow.spreadNs = spreadAround(slow.medianNs, times);
    if (times.size() < kLeastStepsForSpread) return slow;
    for (std::size_t i = 0; i < times.size(); ++i)
        if (times[i] > kSlowStepFactor * slow.medianNs &&
            times[i] > slow.medianNs + kSlowStepSpreads * slow.spreadNs)
            slow.slow.push_back(compared[i]);
    return slow;
}

std::optional<Stretch> highStretch(const std::vector<double>& values, const StretchRule& rule) {
    if (values.size() < kLeastInStretch + kLeastOutside) return std::nullopt;
    std::optional<Stretch> best;
    for (const double share : kLowValues) {
        Places places = mostAbove(values, halfway(quantileOf(values, share), rule));
        if (!isStretch(values, places)) continue;
        places = mostAbove(values, middleOf(values, places));
        const auto stretch = judge(values, places, rule);
        if (stretch && (!best || stretch->excess() > best->excess())) best = stretch;
    }
    return best;
}

}  // namespace shardscope::analysis
