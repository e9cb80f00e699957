// Tokens per second, step by step. Pure.
#pragma once

#include "storage/model/recording.h"

#include <map>

namespace shardscope::analysis {

/// Tokens of all ranks divided by the time of the step, for each that every rank finished, warm-up
/// and validation too; none where steps do not say how many tokens they have.
[[nodiscard]] std::map<StepIndex, double> throughputByStep(const RecordingSummary& summary);

}  // namespace shardscope::analysis
