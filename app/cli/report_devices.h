// What a report says of devices and what ran on them: of few ranks each, of many the spread.
#pragma once

#include "profiler/analysis/report.h"

#include <string>

namespace shardscope::cli {

/// `counted`: what of a rank's time is. Empty without devices.
[[nodiscard]] std::string devicesText(const analysis::Report& report, const char* counted,
                                      bool brief);
/// What HTA says of the exported traces by itself; empty where it says nothing.
[[nodiscard]] std::string htaText(const analysis::Report& report, bool brief);

}  // namespace shardscope::cli
