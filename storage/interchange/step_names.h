// Names of annotations that mark a training step, and which step.
#pragma once

#include "storage/model/ids.h"
#include "storage/model/words.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace shardscope::interchange {

/// How a trace calls its steps; where it does in several ways, earlier ones here win.
enum class StepNaming : std::uint8_t { kProfilerStep, kStep, kIteration, kBatch };
constexpr auto wordsOf(StepNaming) {
    return wordList<Word<StepNaming>>({{StepNaming::kProfilerStep, "ProfilerStep#N"},
                                       {StepNaming::kStep, "step N"},
                                       {StepNaming::kIteration, "iteration N"},
                                       {StepNaming::kBatch, "batch N"}});
}

struct NamedStep {
    StepNaming naming = StepNaming::kProfilerStep;
    StepIndex step;
};

/// An argument of the annotation behind the last step, which is none: exported for HTA's sake.
inline constexpr std::string_view kBehindLastStep = "behind_last_step";

/// "ProfilerStep#5", "step 5", "## Step 5 ##", "global_step=5", "train step #5/100", "iteration:
/// 5", "iter_5", "training batch 5"; nothing of any other name.
[[nodiscard]] std::optional<NamedStep> stepIn(std::string_view name);

}  // namespace shardscope::interchange
