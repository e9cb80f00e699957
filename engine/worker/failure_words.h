// Sentences for what ends a training step.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/training/trainer.h"

#include <optional>
#include <string>

namespace shardscope::worker {

/// `known`: `place` is where the first output that is not finite was found.
[[nodiscard]] std::string notFiniteSentence(const training::StepResult& result,
                                            const training::StepPosition& place, bool known);

/// What could not be allocated since this was last asked, at which place, and what theory says a
/// rank needs; nothing when every allocation succeeded.
[[nodiscard]] std::optional<std::string> outOfMemorySentence(const run::RunConfig& config,
                                                             const training::StepPosition& place);

}  // namespace shardscope::worker
