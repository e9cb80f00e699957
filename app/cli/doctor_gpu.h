// What `shardscope doctor` makes of the probe's words on driver, GPU part, devices and tracing.
#pragma once

#include "app/cli/doctor_probe.h"
#include "app/cli/doctor_report.h"

#include <string>
#include <vector>

namespace shardscope::cli {

/// What this side knows of the machine.
struct GpuSurroundings {
    bool wanted = false;                   ///< a GPU run is asked for: its absence is no mere note
    bool moduleFile = false;               ///< libshardscope_cuda.so lies beside the rank program
    int toolkitVersion = 0;                ///< 13000; 0: not known
    std::string toolkit;                   ///< nvcc's path, or empty
    std::vector<std::string> pci;          ///< GPUs on the bus, whatever the driver says
    std::vector<std::string> environment;  ///< NAME=value
    std::string profilingRule;  ///< /proc/driver/nvidia/params; empty: no driver is loaded
    bool root = false;
};

/// Adds sections "gpu" and "tracing", and says whether GPU training and tracing work.
void addGpuChecks(const ProbeOutcome& probe, const GpuSurroundings& around, Diagnosis& diagnosis);

}  // namespace shardscope::cli
