// Steps at which training did something that healthy training does not.
//
// A loss or gradient norm is compared with the median of the steps before it. What it is above that
// counts in spreads: 1.4826 / sqrt 2 x the median of how far neighbouring steps are apart, which
// neither a few outliers nor the run's trend change much. Slow steps: slow_steps.h. Thresholds are
// those of the constants below.
#pragma once

#include "profiler/analysis/report.h"
#include "profiler/analysis/slow_steps.h"
#include "storage/model/recording.h"
#include "storage/model/words.h"

#include <cstddef>
#include <cstdint>
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
    double typical = 0;  ///< what it is compared with; 0: nothing
};

struct TrainingHealth {
    std::vector<TrainingMoment> moments;                   ///< by time
    std::size_t losses = 0, gradientNorms = 0, steps = 0;  ///< that were looked at
    /// Of so many spikes, outliers and slow steps can be told: of fewer nothing is compared.
    static constexpr std::size_t kLeastPoints = kStepsBefore + kLeastStepsForSpread;
    static constexpr std::size_t kLeastSteps = kLeastStepsForSpread;
};

[[nodiscard]] TrainingHealth trainingHealth(const RecordingSummary& summary,
                                            const std::vector<RankEvents>& ranks);

}  // namespace shardscope::analysis
