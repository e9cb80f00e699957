// The peak that MFU of a recorded program on CPUs divides by: what `shardscope calibrate` measured
// of this host, by the part of its cores that a rank computes with. Pure.
#pragma once

#include "engine/launch/program/program_supervisor.h"
#include "engine/run/protocol/messages.h"
#include "profiler/planning/calibration.h"
#include "storage/model/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace shardscope::cli {

/// `said`: of the rank's process: "device" and "dtype" of its parameters, "threads" of its
/// operators. Of more threads than cores each rank has its part of the cores. Without a peak its
/// source says why, and what to do.
[[nodiscard]] run::PeakMeasured programPeak(
    const Result<std::optional<planning::Calibration>>& calibration,
    const std::map<std::string, std::string>& said, std::int32_t ranks, std::int64_t nowS);

/// By this host's calibration.
[[nodiscard]] launch::ProgramPeak programPeaks();

}  // namespace shardscope::cli
