// A calibration as people read it.
#pragma once

#include "profiler/planning/calibration.h"

#include <cstdint>
#include <string>

namespace shardscope::cli {

/// Host and device, age, a table of the machine and one of collectives, what to mind.
[[nodiscard]] std::string calibrationText(const planning::Calibration& calibration,
                                          std::int64_t nowS);

}  // namespace shardscope::cli
