// What `shardscope doctor` itself knows of the machine around a GPU, beside the probe's word.
#pragma once

#include "app/cli/doctor_report.h"

#include <string>
#include <vector>

namespace shardscope::cli {

struct GpuSurroundings {
    bool wanted = false;                   ///< a GPU run is asked for: its absence is no mere note
    bool moduleFile = false;               ///< libshardscope_cuda.so lies beside the rank program
    int toolkitVersion = 0;                ///< 13000; 0: not known
    std::string toolkit;                   ///< nvcc's path, or empty
    std::vector<std::string> pci;          ///< GPUs on the bus, whatever the driver says
    std::vector<std::string> environment;  ///< NAME=value
    std::string profilingRule;  ///< /proc/driver/nvidia/params; empty: no driver is loaded
    bool root = false;

    /// How bad it is when a GPU cannot be used: nobody asked for one where there is none.
    [[nodiscard]] CheckStatus without(CheckStatus bad) const {
        return wanted || !pci.empty() ? bad : CheckStatus::kNote;
    }
};

}  // namespace shardscope::cli
