// Work that a program does for the profiler's sake, which is no work of the training.
#pragma once

#include "storage/model/events.h"

namespace shardscope {

/// Calibration: it runs once before the first step, whatever is trained.
[[nodiscard]] constexpr bool isApart(const SpanEvent& span) {
    return span.phase == Phase::kCalibration;
}

}  // namespace shardscope
