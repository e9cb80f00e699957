// A calibration as people read it: command line and window show the same. Pure.
#pragma once

#include "profiler/planning/calibration.h"
#include "profiler/questions/answer/answer.h"

#include <cstdint>

namespace shardscope::questions {

/// Host and device, age, what to mind; a table of the machine and one of collectives. `nowS`: unix
/// seconds.
[[nodiscard]] Answer calibrationAnswer(const planning::Calibration& calibration, std::int64_t nowS);

}  // namespace shardscope::questions
