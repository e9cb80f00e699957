// Which steps are compared with each other, and which of them took much longer than the rest.
//
// A step's time, from the first rank's beginning to the last one's end, is compared with the median
// step's, in spreads of 1.4826 x the median absolute deviation (Rousseeuw & Croux 1993). Steps that
// evaluate, write a checkpoint or text of the model are not compared: they take longer of
// necessity.
#pragma once

#include "profiler/analysis/findings.h"
#include "storage/model/recording.h"

#include <cstddef>
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
[[nodiscard]] SlowSteps slowSteps(const SteadySteps& steady, const std::vector<RankEvents>& ranks);

/// Whether a step in which a rank does this is not compared with others.
[[nodiscard]] constexpr bool setsAside(Phase phase) {
    return phase == Phase::kEvaluation || phase == Phase::kCheckpoint || phase == Phase::kSample;
}
/// Steps in which some rank evaluated, wrote a checkpoint or text of the model.
[[nodiscard]] std::set<StepIndex> stepsSetAside(const std::vector<RankEvents>& ranks);

/// 1.4826 x the median absolute deviation from `median`. Of a list that is not empty.
[[nodiscard]] double spreadAround(double median, std::vector<double> values);

}  // namespace shardscope::analysis
