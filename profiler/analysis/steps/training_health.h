// Steps at which training did something that healthy training does not.
//
// A loss or gradient norm is compared with the median of the steps before it. What it is above that
// counts in spreads: 1.4826 / sqrt 2 x the median of how far neighbouring steps are apart, which
// neither a few outliers nor the run's trend change much. Slow steps: slow_steps.h. Thresholds are
// those of the constants below.
#pragma once

#include "profiler/analysis/report/report.h"
#include "profiler/analysis/steps/slow_steps.h"
#include "storage/model/recording.h"
#include "storage/model/words.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::analysis {

enum class TrainingEvent : std::uint8_t {
    kNotFinite,
    kLossSpike,
    kGradientNorm,
    kSkippedUpdate,
    kSlowStep,
};
struct TrainingWords {
    TrainingEvent value;
    const char* word;
    const char* definition;
};
constexpr auto wordsOf(TrainingEvent) {
    return wordList<TrainingWords>(
        {{TrainingEvent::kNotFinite, "not finite",
          "The loss or the gradient norm is NaN or infinite."},
         {TrainingEvent::kLossSpike, "loss spike",
          "The loss is 8 spreads and 5 % above the median of the ten steps before."},
         {TrainingEvent::kGradientNorm, "gradient norm",
          "The gradient norm is 8 spreads above the median of the ten steps before, and three "
          "times "
          "as large."},
         {TrainingEvent::kSkippedUpdate, "skipped update",
          "The loss scale fell: fp16 gradients overflowed, and the update was not made."},
         {TrainingEvent::kSlowStep, "slow step",
          "Twice the median step, and 8 spreads above it; of steps without checkpoint or "
          "sample."}});
}

inline constexpr std::size_t kStepsBefore = 10;
inline constexpr double kSpikeSpreads = 8;
inline constexpr double kLeastLossSpike = 0.05;
inline constexpr double kLeastGradientNorm = 3;

struct TrainingMoment {
    TrainingEvent event{};
    StepIndex step;
    Timestamp time;
    double value = 0;
    double typical = 0;     ///< what it is compared with; 0: nothing
    const char* what = "";  ///< "loss", "gradient norm"; of those that are not finite
};

struct TrainingHealth {
    std::vector<TrainingMoment> moments;                   ///< by time
    std::size_t losses = 0, gradientNorms = 0, steps = 0;  ///< that were looked at
    /// Steps needed to look for spikes, outliers and slow steps; with fewer nothing is compared.
    static constexpr std::size_t kLeastPoints = kStepsBefore + kLeastStepsForSpread;
    static constexpr std::size_t kLeastSteps = kLeastStepsForSpread;
};

[[nodiscard]] TrainingHealth trainingHealth(const RecordingSummary& summary,
                                            const std::vector<RankEvents>& ranks);

// Loss curves of two runs, step by step: from where on they differ, and whether beyond noise.
//
// Aligned by the number of the step; of a step that was done twice the last word counts. Equal
// means equal to the last digit. A curve's noise is what it is off itself from one step to the
// next: 1.4826 / sqrt 2 x the median distance of neighbours (robust scale: Rousseeuw & Croux 1993).
// That of a difference is the root of the sum of both squares. Apart: a difference of more than 5
// times that.

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
