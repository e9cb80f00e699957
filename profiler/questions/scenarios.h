// Steps played again with something faster, as a table that two questions show.
#pragma once

#include "profiler/questions/answer/answer.h"
#include "profiler/questions/question.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"

#include <optional>
#include <vector>

namespace shardscope::questions {

/// By the model analysis::kWhatIfModel. Nothing where no step or nothing of ranks' work is known.
/// kUsage: something of asked.faster is not in the recording.
[[nodiscard]] Result<std::optional<Table>> scenariosOf(const Asked& asked,
                                                       const std::vector<RankEvents>& ranks);

}  // namespace shardscope::questions
