// FLOP/s, MFU and HFU of programs that are not ours and of imported traces, for `efficiency`.
// Internal to profiler/questions.
#pragma once

#include "profiler/analysis/findings.h"
#include "profiler/questions/question.h"

#include <vector>

namespace shardscope::questions {

[[nodiscard]] Result<void> addProgramRates(const Asked& asked, const std::vector<RankEvents>& ranks,
                                           const analysis::Throughput& throughput, Answer& answer);

}  // namespace shardscope::questions
