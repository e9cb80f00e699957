// Recorded steps played again with something faster, which `bounds`, `what-if` and the Plan page
// show. By the model analysis::kWhatIfModel.
#pragma once

#include "profiler/questions/answer/answer.h"
#include "profiler/questions/question.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"

#include <string>
#include <vector>

namespace shardscope::questions {

/// Adds the table "durations", of asked.faster in its first row, with its figures and model; or,
/// where something was to be faster, why there is none. kUsage: something of asked.faster is not in
/// the recording.
[[nodiscard]] Result<void> addScenarios(const Asked& asked, const std::vector<RankEvents>& ranks,
                                        Answer& answer);

/// What asked.faster may name here: "link" where transfers are known, "rank 0", and what is called
/// so, with most time on the steps' path first. None where addScenarios() has no table.
[[nodiscard]] Result<std::vector<std::string>> fasterChoices(const Asked& asked,
                                                             const std::vector<RankEvents>& ranks);

}  // namespace shardscope::questions
