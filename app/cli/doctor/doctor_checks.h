// The parts of `shardscope doctor`.
#pragma once

#include "app/cli/doctor/doctor_probe.h"
#include "app/cli/doctor/doctor_report.h"

#include <string>
#include <vector>

namespace shardscope::cli {

// What `shardscope doctor` looks at itself: this machine, and tools beside the program.

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

// What `shardscope doctor` says of driver, GPU part, devices and tracing.

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

// `shardscope doctor --hosts`: what the hosts of a run are and have, and what each lacks.

struct DoctorHosts {
    std::string hosts;  ///< a host file, or a list
    std::string sshCommand = "ssh";
    std::string acceptKey;  ///< fingerprint of an unknown key that is trusted from now on
    bool json = false;      ///< one object, schema shardscope.doctor-hosts/1
};

/// Prints a row per host and what fixes what is missing. Exit status: 0 all can run ranks, 4 one
/// cannot.
int diagnoseHosts(const DoctorHosts& options);

}  // namespace shardscope::cli
