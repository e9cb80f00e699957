// The mean of what was measured repeatedly, how much it varies, and how far the mean can be
// trusted.
//
// s: standard deviation with n - 1 below. Interval: mean +- t s / sqrt(n), where t leaves 2.5 % on
// either side of Student's distribution with n - 1 degrees of freedom: 95 %, of values that are
// drawn independently and about normally (Student, Biometrika 6, 1908; NIST/SEMATECH e-Handbook,
// 1.3.5.2). Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace shardscope::analysis {

struct MeanInterval {
    double mean = 0;
    std::optional<double> deviation;  ///< absent of a single value, like the interval
    std::optional<double> low, high;
    std::size_t count = 0;  ///< values
    bool ofSteps = false;   ///< see meanOfRuns()
};

/// Nothing of no values.
[[nodiscard]] std::optional<MeanInterval> meanOf(const std::vector<double>& values);

/// Of repeated runs, with the figures of each one's steps. Steps of one run resemble each other, so
/// that each run counts as one value, its mean. Of one run alone its steps are the values, and
/// `ofSteps` says that nothing is known of how runs differ. Runs without figures do not count.
[[nodiscard]] std::optional<MeanInterval> meanOfRuns(const std::vector<std::vector<double>>& runs);

/// t with 2.5 % above it; `freedom` of at least 1.
[[nodiscard]] double studentQuantile(std::size_t freedom);

}  // namespace shardscope::analysis
