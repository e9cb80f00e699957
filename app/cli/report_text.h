// The report for people: sections of aligned text.
#pragma once

#include "profiler/analysis/report.h"

#include <string>

namespace shardscope::cli {

/// `path` names the recording in the title.
[[nodiscard]] std::string reportText(const analysis::Report& report, const std::string& path);

}  // namespace shardscope::cli
