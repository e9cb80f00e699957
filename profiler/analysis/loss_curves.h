// Loss curves of two runs, step by step: from where on they differ, and whether beyond noise.
//
// Aligned by the number of the step; of a step that was done twice the last word counts. Equal
// means equal to the last digit. A curve's noise is what it is off itself from one step to the
// next: 1.4826 / sqrt 2 x the median distance of neighbours (robust scale: Rousseeuw & Croux 1993).
// That of a difference is the root of the sum of both squares. Apart: a difference of more than 5
// times that.
#pragma once

#include "storage/model/recording.h"

#include <optional>
#include <vector>

namespace shardscope::analysis {

inline constexpr double kApartSpreads = 5;

struct LossPair {
    StepIndex step;
    std::optional<double> first, second;  ///< absent: not finite
    [[nodiscard]] std::optional<double> difference() const {
        if (!first || !second) return std::nullopt;
        return *second - *first;
    }
};

struct LossCurves {
    std::vector<LossPair> steps;       ///< that both have, by step
    std::optional<double> noise;       ///< of a difference; absent: too few steps
    std::optional<StepIndex> differs;  ///< first step at which they are not equal
    std::optional<StepIndex> apart;    ///< first beyond noise; a loss that is no number is
    double largest = 0;                ///< of the differences, without its sign
};
[[nodiscard]] LossCurves lossCurves(const RecordingSummary& first, const RecordingSummary& second);

}  // namespace shardscope::analysis
