#include "app/cli/doctor_driver.h"

#include "app/cli/doctor_versions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

namespace shardscope::cli {
namespace {

constexpr int kOldestDriver = 580;
constexpr const char* kGetDriver =
    "install NVIDIA's driver r580 or newer (https://www.nvidia.com/drivers); in a container, "
    "start it with --gpus all";

/// `version` is NVML's word or empty, `cuda` CUDA's or 0.
Check knownDriver(const std::string& version, std::int64_t cuda) {
    const bool old = (cuda != 0 && cuda < kRuntimeVersion) ||
                     (!version.empty() && std::atoi(version.c_str()) < kOldestDriver);
    return {"gpu.driver", old ? CheckStatus::kProblem : CheckStatus::kOk,
            fmt::format("{}{}{}", version.empty() ? "version unknown to NVML" : version,
                        cuda != 0 ? fmt::format(", CUDA up to {}", cudaVersionText(cuda)) : "",
                        old ? ": older than r580" : ""),
            old ? kGetDriver : ""};
}

Check noDriver(const GpuSurroundings& around) {
    const std::string bus = around.pci.empty()
                                ? "and no NVIDIA GPU on the PCI bus"
                                : fmt::format("but {} on the PCI bus", fmt::join(around.pci, ", "));
    return {"gpu.driver", around.without(CheckStatus::kMissing),
            fmt::format("no NVIDIA driver, {}", bus), kGetDriver};
}

Check silentDriver(const run::DriverPart* driver) {
    if (driver == nullptr) {
        return {"gpu.driver", CheckStatus::kNote,
                "the NVIDIA driver is loaded; shardscope-rank returned no driver information", ""};
    }
    return {"gpu.driver", CheckStatus::kProblem,
            "the NVIDIA driver is loaded, and does not answer: " + driver->problem.found,
            "nvidia-smi; after an upgrade of the driver restart, and start a container with "
            "--gpus all"};
}

}  // namespace

Check driverCheck(const ProbeOutcome& probe, const GpuSurroundings& around) {
    const auto* driver = probe.part<run::DriverPart>();
    const auto* cuda = probe.part<run::CudaPart>();
    const std::string version = driver != nullptr ? driver->version : "";
    const std::int64_t known = cuda != nullptr ? cuda->driverVersion : 0;
    if (!version.empty() || known != 0) return knownDriver(version, known);
    return around.profilingRule.empty() ? noDriver(around) : silentDriver(driver);
}

}  // namespace shardscope::cli
