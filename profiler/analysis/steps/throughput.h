// Tokens per second, step by step. Pure.
#pragma once

#include "storage/model/recording.h"

#include <map>
#include <vector>

namespace shardscope::analysis {

/// Tokens of all ranks divided by the time of the step, for each that every rank finished, warm-up
/// and validation too; none where steps do not say how many tokens they have. `ranks`: of these
/// instead of all; none: all.
[[nodiscard]] std::map<StepIndex, double> throughputByStep(const RecordingSummary& summary,
                                                           const std::vector<RankId>& ranks = {});

}  // namespace shardscope::analysis
