#include "app/cli/doctor/doctor_checks.h"
#include "app/cli/doctor/doctor_probe.h"
#include "app/cli/doctor/doctor_report.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

inline constexpr int kRuntimeVersion = 13000;

inline constexpr int kCuptiVersion = 130001;

inline constexpr int kNcclVersion = 22809;

/// 13000 -> "13.0"
[[nodiscard]] inline std::string cudaVersionText(std::int64_t version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// CUPTI counts: 130001 -> "130001"
[[nodiscard]] inline std::string cuptiVersionText(std::int64_t version) {
    return std::to_string(version);
}

/// 22809 -> "2.28.9"
[[nodiscard]] inline std::string ncclVersionText(std::int64_t version) {
    return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

constexpr const char* kBuildModule =
    "packaging/fetch-libtorch --cuda && cmake --preset release -D SHARDSCOPE_WITH_CUDA=ON && "
    "cmake --build --preset release";
constexpr const char* kGetToolkit =
    "install the CUDA 13.0 toolkit (apt-get install cuda-toolkit-13-0, from NVIDIA's repository) "
    "and name it in CUDA_HOME";

/// A library of CUDA that the module works with.
struct Library {
    const char* id;
    const char* name;
    const char* file;
    std::int64_t run::CudaPart::*version;
    std::int64_t wanted;
    std::string (*text)(std::int64_t);
};
constexpr Library kLibraries[] = {
    {"gpu.runtime", "CUDA runtime", "libcudart.so.13", &run::CudaPart::runtimeVersion,
     kRuntimeVersion, cudaVersionText},
    {"gpu.cupti", "CUPTI", "libcupti.so.13", &run::CudaPart::cuptiVersion, kCuptiVersion,
     cuptiVersionText},
    {"gpu.nccl", "NCCL", "libnccl.so.2", &run::CudaPart::ncclVersion, kNcclVersion,
     ncclVersionText},
};

Check libraryCheck(const Library& library, const run::CudaPart& cuda) {
    const std::int64_t version = cuda.*library.version;
    const std::string found = fmt::format("{} {}", library.name, library.text(version));
    if (version == library.wanted) return {library.id, CheckStatus::kOk, found, ""};
    const auto path = cuda.loadedFrom.find(library.file);
    const bool known = path != cuda.loadedFrom.end() && !path->second.empty();
    return {library.id, CheckStatus::kProblem,
            fmt::format("{}{}; this build needs {}", found, known ? " from " + path->second : "",
                        library.text(library.wanted)),
            fmt::format("env -u LD_LIBRARY_PATH, or let the folder of the right {} come first in "
                        "it",
                        library.file)};
}

/// What the GPU part could be built with.
Check toolkitCheck(const GpuSurroundings& around) {
    const CheckStatus absent = around.without(CheckStatus::kMissing);
    if (around.toolkit.empty())
        return {"gpu.toolkit", absent, "no nvcc, so the GPU part cannot be built here",
                kGetToolkit};
    if (around.toolkitVersion == kRuntimeVersion)
        return {"gpu.toolkit", CheckStatus::kOk, around.toolkit, ""};
    const std::string version = around.toolkitVersion != 0 ? cudaVersionText(around.toolkitVersion)
                                                           : "a version that is not known";
    return {"gpu.toolkit", absent,
            fmt::format("{} is of CUDA {}, and the GPU part is built with {}", around.toolkit,
                        version, cudaVersionText(kRuntimeVersion)),
            kGetToolkit};
}

/// Nothing where the probe did not get there: "gpu.probe" says so.
std::vector<Check> presenceChecks(const run::CudaPart* cuda, const GpuSurroundings& around) {
    if (!around.moduleFile) {
        return {{"gpu.module", around.without(CheckStatus::kMissing),
                 "libshardscope_cuda.so is not beside shardscope-rank", kBuildModule},
                toolkitCheck(around)};
    }
    if (cuda == nullptr) return {};
    if (cuda->loaded) return {{"gpu.module", CheckStatus::kOk, "libshardscope_cuda.so", ""}};
    return {{"gpu.module", around.without(CheckStatus::kProblem), cuda->problem.found,
             cuda->problem.remedy}};
}

/// "gpu.module"; "gpu.toolkit" where it is not built; "gpu.runtime", "gpu.cupti" and "gpu.nccl"
/// where it is loaded.
std::vector<Check> moduleChecks(const ProbeOutcome& probe, const GpuSurroundings& around) {
    const auto* cuda = probe.part<run::CudaPart>();
    std::vector<Check> checks = presenceChecks(cuda, around);
    // Beside a link to shardscope-rank no module is seen, though it was loaded.
    if (cuda != nullptr && cuda->loaded)
        for (const Library& library : kLibraries) checks.push_back(libraryCheck(library, *cuda));
    return checks;
}

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

/// "gpu.driver"
Check driverCheck(const ProbeOutcome& probe, const GpuSurroundings& around) {
    const auto* driver = probe.part<run::DriverPart>();
    const auto* cuda = probe.part<run::CudaPart>();
    const std::string version = driver != nullptr ? driver->version : "";
    const std::int64_t known = cuda != nullptr ? cuda->driverVersion : 0;
    if (!version.empty() || known != 0) return knownDriver(version, known);
    return around.profilingRule.empty() ? noDriver(around) : silentDriver(driver);
}

using DriverDevices = std::vector<run::DriverDevice>;

constexpr const char* kOldestCapability = "8.0";
constexpr const char* kChooseAnother = "choose another with CUDA_VISIBLE_DEVICES";

bool tooOld(const run::CudaDevice& device) {
    return std::atof(device.computeCapability.c_str()) < std::atof(kOldestCapability);
}

/// Of CUDA or of the driver.
template <class Device>
std::string deviceText(const Device& device) {
    return fmt::format("{} ({}), {}", device.name, device.pciBusId, bytesText(device.memory));
}

/// " 3.0 MiB"; empty where it is not known.
std::string heldText(const std::optional<Bytes>& memory) {
    return memory && memory->count > 0 ? " " + bytesText(*memory) : "";
}

std::string usersText(const run::DriverDevice& device) {
    if (device.users.empty()) return "";
    std::string users;
    for (const run::DeviceUser& user : device.users) {
        users += fmt::format("{}pid {} {}{}", users.empty() ? "" : ", ", user.pid, user.name,
                             heldText(user.memory));
    }
    return fmt::format(", in use{}: {}", heldText(device.memoryUsed), users);
}

/// The driver's word on CUDA's device: NVML writes "00000000:17:00.0" where CUDA writes
/// "0000:17:00.0". Null: it has none.
const run::DriverDevice* sameDevice(const DriverDevices& devices, const std::string& bus) {
    const auto same = std::find_if(devices.begin(), devices.end(), [&](const auto& device) {
        const std::string& own = device.pciBusId;
        return !bus.empty() && own.size() >= bus.size() &&
               ::strcasecmp(own.c_str() + own.size() - bus.size(), bus.c_str()) == 0;
    });
    return same == devices.end() ? nullptr : &*same;
}

Check usableCheck(std::string id, const run::CudaDevice& device, const DriverDevices& known) {
    std::string found = deviceText(device) + ", compute capability " + device.computeCapability;
    if (tooOld(device)) {
        found += fmt::format(", older than {}, which this build is made for", kOldestCapability);
        return {std::move(id), CheckStatus::kProblem, std::move(found), kChooseAnother};
    }
    const run::DriverDevice* same = sameDevice(known, device.pciBusId);
    if (same == nullptr) return {std::move(id), CheckStatus::kOk, std::move(found), ""};
    if (same->mig) found += ", a slice (MIG mode)";
    const bool used = !same->users.empty();
    return {std::move(id), same->mig || used ? CheckStatus::kNote : CheckStatus::kOk,
            found + usersText(*same),
            used ? std::string("end what uses it, or ") + kChooseAnother : ""};
}

/// What the driver has, though CUDA or this build cannot use it.
Check shownCheck(std::string id, const run::DriverDevice& device) {
    return {std::move(id), CheckStatus::kNote, deviceText(device) + usersText(device), ""};
}

void addUnusable(const run::Obstacle& problem, Diagnosis& diagnosis) {
    // That is said of the driver already.
    if (problem.none() || problem.code == run::kNoDriverCode) return;
    diagnosis.checks.push_back(
        {"gpu.usable", CheckStatus::kProblem, problem.found, problem.remedy});
}

/// Adds "gpu.usable" where CUDA cannot be used and "gpu.device_0" and on, and says whether training
/// on a GPU works.
void addDeviceChecks(const ProbeOutcome& probe, Diagnosis& diagnosis) {
    const auto* driver = probe.part<run::DriverPart>();
    const auto* part = probe.part<run::CudaPart>();
    const DriverDevices known = driver != nullptr ? driver->devices : DriverDevices{};
    const run::CudaPart cuda = part != nullptr && part->loaded ? *part : run::CudaPart{};
    diagnosis.cuda = cuda.problem.none() && !cuda.devices.empty() &&
                     std::none_of(cuda.devices.begin(), cuda.devices.end(), tooOld);
    addUnusable(cuda.problem, diagnosis);
    int count = 0;
    const auto id = [&] { return fmt::format("gpu.device_{}", count++); };
    for (const run::CudaDevice& device : cuda.devices)
        diagnosis.checks.push_back(usableCheck(id(), device, known));
    if (!cuda.devices.empty()) return;
    for (const run::DriverDevice& device : known)
        diagnosis.checks.push_back(shownCheck(id(), device));
}

/// Without engine there was no probe to speak of: "engine.libtorch" says so.
void addProbeCheck(const ProbeOutcome& probe, Diagnosis& diagnosis) {
    if (probe.problem.empty() || probe.part<run::EnginePart>() == nullptr) return;
    diagnosis.checks.push_back(
        {"gpu.probe", CheckStatus::kProblem, "shardscope-rank --probe " + probe.problem,
         "once more, when the disk is slow; nvidia-smi; dmesg | grep -i xid"});
}

/// Each lets Nsight, a sanitizer or PyTorch's daemon in, and CUPTI serves one tool at a time.
constexpr std::array<std::string_view, 9> kInjections = {
    "CUDA_INJECTION64_PATH=", "NVTX_INJECTION64_PATH=", "NSYS_",  "NV_COMPUTE_PROFILER",
    "NV_NSIGHT_INJECTION",    "NV_TPS_LAUNCH_",         "QUADD_", "KINETO_USE_DAEMON=",
    "NV_SANITIZER_INJECTION"};
constexpr std::string_view kPreload = "LD_PRELOAD=";

bool injects(std::string_view variable) {
    for (const std::string_view name : kInjections)
        if (variable.starts_with(name)) return true;
    return false;
}

void append(std::string& list, std::string_view word, const char* separator) {
    if (!list.empty()) list += separator;
    list += word;
}

Check tracerCheck(const ProbeOutcome& probe, bool cuda) {
    const auto* tracing = probe.part<run::TracingPart>();
    if (tracing == nullptr) {
        if (cuda)
            return {"tracing.cupti", CheckStatus::kProblem, "the probe did not get to it", ""};
        return {"tracing.cupti", CheckStatus::kNote, "not tried: there is no GPU to use", ""};
    }
    if (tracing->started) {
        return {"tracing.cupti", CheckStatus::kOk,
                "CUPTI lets Shardscope trace: no other tool holds it", ""};
    }
    return {"tracing.cupti", CheckStatus::kProblem, tracing->problem.found,
            tracing->problem.remedy};
}

}  // namespace

void addGpuChecks(const ProbeOutcome& probe, const GpuSurroundings& around, Diagnosis& diagnosis) {
    diagnosis.checks.push_back(driverCheck(probe, around));
    for (Check& check : moduleChecks(probe, around)) diagnosis.checks.push_back(std::move(check));
    addDeviceChecks(probe, diagnosis);
    addProbeCheck(probe, diagnosis);
    addTracingChecks(probe, around, diagnosis);
}

Check injectionCheck(const std::vector<std::string>& environment) {
    std::string found, names, preload;
    for (const std::string& variable : environment) {
        if (variable.starts_with(kPreload) && variable.size() > kPreload.size()) preload = variable;
        if (!injects(variable)) continue;
        append(found, variable, ", ");
        append(names, variable.substr(0, variable.find('=')), " ");
    }
    if (!names.empty()) {
        return {"tracing.environment", CheckStatus::kProblem,
                "another tool is loaded into processes by " + found, "unset " + names};
    }
    if (!preload.empty()) {
        return {"tracing.environment", CheckStatus::kNote, preload,
                "unset LD_PRELOAD, if that is a profiler"};
    }
    return {"tracing.environment", CheckStatus::kOk, "no variable loads another tool", ""};
}

Check countersCheck(const std::string& rule, bool root) {
    if (rule.empty()) {
        return {"tracing.counters", CheckStatus::kNote, "no driver, so no counters to permit", ""};
    }
    if (rule.find("RmProfilingAdminOnly: 1") == std::string::npos)
        return {"tracing.counters", CheckStatus::kOk, "all users may read GPU counters", ""};
    if (root)
        return {"tracing.counters", CheckStatus::kOk, "root may read GPU counters, as we are", ""};
    return {"tracing.counters", CheckStatus::kNote,
            "only root may read GPU counters (RmProfilingAdminOnly: 1); kernels are traced all the "
            "same",
            "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee "
            "/etc/modprobe.d/nvidia-profiling.conf && sudo update-initramfs -u, then restart"};
}

void addTracingChecks(const ProbeOutcome& probe, const GpuSurroundings& around,
                      Diagnosis& diagnosis) {
    const auto* tracing = probe.part<run::TracingPart>();
    diagnosis.tracing = tracing != nullptr && tracing->started;
    diagnosis.checks.push_back(tracerCheck(probe, diagnosis.cuda));
    diagnosis.checks.push_back(injectionCheck(around.environment));
    diagnosis.checks.push_back(countersCheck(around.profilingRule, around.root));
}

}  // namespace shardscope::cli
