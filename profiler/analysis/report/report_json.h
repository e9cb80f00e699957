// The report as JSON, with what the user calls the run.
#pragma once

#include "profiler/analysis/report/report.h"
#include "storage/model/run_label.h"

#include <string>

namespace shardscope::analysis {

/// As toJson() of report.h.
[[nodiscard]] std::string toJson(const Report& report, const RunLabel& label);

}  // namespace shardscope::analysis
