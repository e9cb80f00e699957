// The recording of a measuring run, read for calibrate and bench.
#pragma once

#include "profiler/planning/calibration.h"
#include "storage/model/result.h"

#include <string>
#include <vector>

namespace shardscope::cli {

/// Of a recording that may have been interrupted. kUnreadable: it is none of a measuring run.
[[nodiscard]] Result<planning::MeasuredRecording> readMeasuredRecording(const std::string& path);

/// How codes of diagnostics begin that say what a run could not measure, or not well.
inline constexpr const char* kLimitCode = "measured-";
/// What the run could not measure or measured shorter, in the words of its ranks.
[[nodiscard]] std::vector<std::string> limitsOf(const RecordingSummary& summary);
/// Adds to `limits` the run's notes that they lack, for callers that report warnings separately.
void addNotedLimits(const RecordingSummary& summary, std::vector<std::string>& limits);

}  // namespace shardscope::cli
