// What `shardscope doctor` says of driver, GPU part, devices and tracing.
#pragma once

#include "app/cli/doctor/doctor_probe.h"
#include "app/cli/doctor/doctor_report.h"

#include <string>
#include <vector>

namespace shardscope::cli {

/// Adds sections "gpu" and "tracing", and says whether GPU training and tracing work.
void addGpuChecks(const ProbeOutcome& probe, const GpuSurroundings& around, Diagnosis& diagnosis);

// Whether a GPU's kernels can be recorded here, and what stands in the way.

/// Adds section "tracing", and says whether tracing works.
void addTracingChecks(const ProbeOutcome& probe, const GpuSurroundings& around,
                      Diagnosis& diagnosis);

/// Variables (NAME=value) by which another tool gets into a process.
[[nodiscard]] Check injectionCheck(const std::vector<std::string>& environment);

/// Who may read the device's counters; `rule`: the text of /proc/driver/nvidia/params.
[[nodiscard]] Check countersCheck(const std::string& rule, bool root);

}  // namespace shardscope::cli
