// Names of annotations that mark a training step, and which step.
#pragma once

#include "storage/model/events.h"
#include "storage/model/words.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace shardscope {

/// How a trace calls its steps; where it does in several ways, earlier ones here win.
enum class StepNaming : std::uint8_t {
    kProfilerStep,
    kArgument,
    kStep,
    kIteration,
    kBatch,
    kOptimizer
};
constexpr auto wordsOf(StepNaming) {
    return wordList<Word<StepNaming>>({{StepNaming::kProfilerStep, "ProfilerStep#N"},
                                       {StepNaming::kArgument, "step_num = N"},
                                       {StepNaming::kStep, "step N"},
                                       {StepNaming::kIteration, "iteration N"},
                                       {StepNaming::kBatch, "batch N"},
                                       {StepNaming::kOptimizer, "Optimizer.step to the next"}});
}

struct NamedStep {
    StepNaming naming = StepNaming::kProfilerStep;
    StepIndex step;
};

/// "ProfilerStep#5", "step 5", "## Step 5 ##", "global_step=5", "train step #5/100", "iteration:
/// 5", "iter_5", "training batch 5"; nothing of any other name.
[[nodiscard]] std::optional<NamedStep> stepIn(std::string_view name);

}  // namespace shardscope
