// What `shardscope doctor` says of driver, GPU part, devices and tracing.
#pragma once

#include "app/cli/doctor/doctor_probe.h"
#include "app/cli/doctor/doctor_report.h"

namespace shardscope::cli {

/// Adds sections "gpu" and "tracing", and says whether GPU training and tracing work.
void addGpuChecks(const ProbeOutcome& probe, const GpuSurroundings& around, Diagnosis& diagnosis);

}  // namespace shardscope::cli
