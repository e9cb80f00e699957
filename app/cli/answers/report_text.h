// The report for people: what is worth a look, then answers under titles.
#pragma once

#include "profiler/analysis/report/report.h"

#include <string>

namespace shardscope::cli {

/// `path` names the recording in the title. Of more than a few ranks only the spread and the worst
/// are shown unless `everyRank`, and of findings the five that come first.
[[nodiscard]] std::string reportText(const analysis::Report& report, const std::string& path,
                                     bool everyRank = false);

}  // namespace shardscope::cli
