// What `shardscope doctor` looks at itself: this machine, and tools beside the program.
#pragma once

#include "app/cli/doctor/doctor_report.h"

#include <string>
#include <vector>

namespace shardscope::cli {

/// System, processor, memory and limits; files are read below `root`, "" for this machine.
[[nodiscard]] std::vector<Check> hostChecks(const std::string& root);

/// What this program works with: ssh, and the desktop beside `folder`'s other programs.
[[nodiscard]] std::vector<Check> toolChecks(const std::string& folder);

/// "NVIDIA 0000:17:00.0" of every display or compute device of NVIDIA's on the PCI bus.
[[nodiscard]] std::vector<std::string> pciGpus(const std::string& root);

/// CUDART_VERSION of the CUDA toolkit that `nvcc` belongs to, by its header; 0: not known.
[[nodiscard]] int toolkitVersion(const std::string& nvcc);

/// The program of that name in PATH, or empty.
[[nodiscard]] std::string inPath(const std::string& program);

}  // namespace shardscope::cli
