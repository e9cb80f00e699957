// What allocators hold beyond what is allocated, as a table. Internal to profiler/questions.
#pragma once

#include "profiler/analysis/report.h"
#include "profiler/questions/answer.h"
#include "profiler/questions/question.h"
#include "storage/model/result.h"

#include <vector>

namespace shardscope::questions {

/// Of the ranks whose allocator's reserve was recorded; of the others that it cannot be told.
[[nodiscard]] Result<void> addAllocators(const Asked& asked,
                                         const std::vector<analysis::RankMemory>& ranks,
                                         Answer& answer);

}  // namespace shardscope::questions
