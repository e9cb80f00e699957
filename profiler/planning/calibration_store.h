// Calibrations on disk: a file for each host and device, replaced in one step.
//
// $XDG_STATE_HOME/shardscope/calibrations, or ~/.local/state/shardscope/calibrations: a home that
// several hosts share holds those of all. Any thread.
#pragma once

#include "profiler/planning/calibration.h"
#include "storage/model/result.h"

#include <optional>
#include <string>

namespace shardscope::planning {

/// Empty where the environment has neither XDG_STATE_HOME nor HOME: nothing is kept.
[[nodiscard]] std::string calibrationFolder();

/// Below `folder`: "node-a-cpu.json", "node-a-nvidia-h200.json"; "node-a-cpu-onednn-max-cpu-isa-
/// avx2.json" where the environment holds this process to less than its CPU has.
[[nodiscard]] std::string calibrationPath(const std::string& folder, const std::string& host,
                                          run::Device kind, const std::string& device);

/// That of `host` (HostFacts::name) for ranks on CPUs, or on this GPU; an empty `device` is the
/// newest of any GPU. Nothing: it was never calibrated. kUnreadable with a sentence that names the
/// file: it is damaged, and not used.
[[nodiscard]] Result<std::optional<Calibration>> findCalibration(
    const std::string& host, run::Device kind, const std::string& device = {},
    const std::string& folder = calibrationFolder());

/// The path it was written to.
Result<std::string> keepCalibration(const Calibration& calibration,
                                    const std::string& folder = calibrationFolder());

}  // namespace shardscope::planning
