// What is worth a look, at the head of the report for people.
#pragma once

#include "profiler/analysis/report.h"

#include <string>

namespace shardscope::cli {

/// Of more than five findings the rest is counted, unless `all`. That nothing stands out is said
/// only where rules could look at enough; of a run that is being recorded never.
[[nodiscard]] std::string findingsText(const analysis::Report& report, bool all);

}  // namespace shardscope::cli
