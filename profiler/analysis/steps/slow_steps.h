// Which steps are compared with each other, and which of them took much longer than the rest.
//
// A step's time, from the first rank's beginning to the last one's end, is compared with the median
// step's, in spreads of 1.4826 x the median absolute deviation (Rousseeuw & Croux 1993). Compared
// are the steady steps (findings.h).
#pragma once

#include "profiler/analysis/findings.h"
#include "storage/model/recording.h"

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

namespace shardscope::analysis {

/// A slow step takes this many times the median, and lies as many spreads above it: on a restless
/// machine each step differs.
inline constexpr double kSlowStepFactor = 2;
inline constexpr double kSlowStepSpreads = 8;
/// Of fewer steps the spread says little: 9 steps of a healthy run gave an alarm in 1 run of 16.
inline constexpr std::size_t kLeastStepsForSpread = 12;
/// x the median absolute deviation: a normal one's deviation.
inline constexpr double kNormalSpread = 1.4826;

struct SlowStep {
    StepIndex step;
    TimeRange range;  ///< over all ranks
};
struct SlowSteps {
    std::size_t steps = 0;  ///< that were compared
    double medianNs = 0, spreadNs = 0;
    std::vector<SlowStep> slow;  ///< by step; none of too few steps
};
[[nodiscard]] SlowSteps slowSteps(const SteadySteps& steady);

/// 1.4826 x the median absolute deviation from `median`. Of a list that is not empty.
[[nodiscard]] double spreadAround(double median, std::vector<double> values);

// The contiguous stretch of a series that is higher than the rest of it: since when, and until
// when, something was wrong.
//
// A threshold halfway between the low values and what would be high gives the stretch with most
// values above it (the largest sum of a subsequence, Bentley 1984), and a second one halfway
// between the medians of that stretch and the rest the stretch itself; then medians decide, so that
// single values, however high, do not.

/// Of the values within the stretch above halfway between both medians, and at most the rest of it
/// outside.
inline constexpr double kRegularInStretch = 0.8;
/// By which the median inside must lie above the one outside: spreads (slow_steps.h) of the latter.
inline constexpr double kStretchSpreads = 3;
/// Values inside, and outside.
inline constexpr std::size_t kLeastInStretch = 4, kLeastOutside = 6;
/// Of all values: a stretch that takes more is the normal state, and what is high is the rest.
inline constexpr double kMostInStretch = 0.8;

struct StretchRule {
    double leastFactor = 2;   ///< median inside over median outside
    double leastShare = 0.2;  ///< of the values
};
struct Stretch {
    std::size_t begin = 0, end = 0;  ///< places in the series, half-open
    double inside = 0, outside = 0;  ///< medians
    [[nodiscard]] std::size_t size() const { return end - begin; }
    /// What it has more than if all were as outside.
    [[nodiscard]] double excess() const { return (inside - outside) * static_cast<double>(size()); }
};

/// Of values none of which is below zero; the one that has most more.
[[nodiscard]] std::optional<Stretch> highStretch(const std::vector<double>& values,
                                                 const StretchRule& rule);

}  // namespace shardscope::analysis
