#include "app/cli/doctor_gpu.h"

#include "app/cli/doctor_tracing.h"
#include "app/cli/report_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <strings.h>

#include <cstdlib>
#include <utility>

namespace shardscope::cli {
namespace {

using nlohmann::json;

constexpr int kRuntimeVersion = 13000;
constexpr int kCuptiVersion = 130001;
constexpr int kNcclVersion = 22809;
constexpr int kNoDriver = 35;  // cudaErrorInsufficientDriver
constexpr const char* kOldestCapability = "8.0";
constexpr const char* kBuildModule =
    "packaging/fetch-libtorch --cuda && cmake --preset release -D SHARDSCOPE_WITH_CUDA=ON && "
    "cmake --build --preset release";
constexpr const char* kGetToolkit =
    "install the CUDA 13.0 toolkit (apt-get install cuda-toolkit-13-0, from NVIDIA's repository) "
    "and name it in CUDA_HOME";
constexpr const char* kGetDriver =
    "install NVIDIA's driver r580 or newer (https://www.nvidia.com/drivers); in a container, "
    "start it with --gpus all";

/// Sentences of the worker are "what is the matter; what to do".
std::pair<std::string, std::string> halves(const std::string& sentence) {
    const auto split = sentence.find("; ");
    if (split == std::string::npos) return {sentence, ""};
    return {sentence.substr(0, split), sentence.substr(split + 2)};
}

std::string text(const json& part, const char* key) {
    const auto found = part.find(key);
    return found != part.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t number(const json& part, const char* key) {
    const auto found = part.find(key);
    return found != part.end() && found->is_number() ? found->get<std::int64_t>() : 0;
}

const json& devicesOf(const json* part) {
    static const json none = json::array();
    if (part == nullptr) return none;
    const auto found = part->find("devices");
    return found != part->end() && found->is_array() ? *found : none;
}

std::string dotted(std::int64_t cuda) {
    return fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
}

std::string ncclText(std::int64_t version) {
    return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

class GpuChecks {
public:
    GpuChecks(const ProbeOutcome& probe, const GpuSurroundings& around, Diagnosis& diagnosis)
        : m_probe(probe),
          m_around(around),
          m_diagnosis(diagnosis),
          m_driver(probe.part("driver")),
          m_cuda(probe.part("cuda")) {}

    void run() {
        driver();
        module();
        if (m_cuda != nullptr && m_cuda->value("loaded", false)) {
            version("gpu.runtime", "CUDA runtime", "runtime_version", kRuntimeVersion,
                    "libcudart.so.13", dotted);
            version("gpu.cupti", "CUPTI", "cupti_version", kCuptiVersion, "libcupti.so.13",
                    [](std::int64_t v) { return std::to_string(v); });
            version("gpu.nccl", "NCCL", "nccl_version", kNcclVersion, "libnccl.so.2", ncclText);
        }
        devices();
        if (!m_probe.problem.empty() && m_probe.part("engine") != nullptr) {
            add("gpu.probe", CheckStatus::kProblem, "shardscope-rank --probe " + m_probe.problem,
                "once more, when the disk is slow; nvidia-smi; dmesg | grep -i xid");
        }
    }

private:
    void add(const std::string& id, CheckStatus status, std::string found,
             std::string remedy = "") {
        m_diagnosis.checks.push_back({id, status, std::move(found), std::move(remedy)});
    }
    /// Nobody asked for a GPU where there is none.
    [[nodiscard]] CheckStatus absent() const {
        return m_around.wanted || !m_around.pci.empty() ? CheckStatus::kMissing
                                                        : CheckStatus::kNote;
    }

    void driver() {
        const std::string version = m_driver != nullptr ? text(*m_driver, "version") : "";
        const std::int64_t cuda = m_cuda != nullptr ? number(*m_cuda, "driver_version") : 0;
        if (version.empty() && cuda == 0) {
            driverWithoutVersion();
            return;
        }
        const bool old = (cuda != 0 && cuda < kRuntimeVersion) ||
                         (!version.empty() && std::atoi(version.c_str()) < 580);
        add("gpu.driver", old ? CheckStatus::kProblem : CheckStatus::kOk,
            fmt::format("{}{}{}", version.empty() ? "version unknown to NVML" : version,
                        cuda != 0 ? fmt::format(", CUDA up to {}", dotted(cuda)) : "",
                        old ? ": older than r580" : ""),
            old ? kGetDriver : "");
    }

    void driverWithoutVersion() {
        if (m_around.profilingRule.empty()) return noDriver();
        if (m_driver == nullptr) {
            return add("gpu.driver", CheckStatus::kNote,
                       "the NVIDIA driver is loaded; shardscope-rank returned no driver "
                       "information");
        }
        add("gpu.driver", CheckStatus::kProblem,
            fmt::format("the NVIDIA driver is loaded, and does not answer: {}",
                        text(*m_driver, "problem")),
            "nvidia-smi; after an upgrade of the driver restart, and start a container with "
            "--gpus all");
    }

    void noDriver() {
        const std::string bus = m_around.pci.empty() ? "and no NVIDIA GPU on the PCI bus"
                                                     : fmt::format("but {} on the PCI bus",
                                                                   fmt::join(m_around.pci, ", "));
        add("gpu.driver", absent(), fmt::format("no NVIDIA driver, {}", bus), kGetDriver);
    }

    /// What the GPU part could be built with.
    void toolkit() {
        if (m_around.toolkit.empty())
            return add("gpu.toolkit", absent(), "no nvcc, so the GPU part cannot be built here",
                       kGetToolkit);
        if (m_around.toolkitVersion == kRuntimeVersion)
            return add("gpu.toolkit", CheckStatus::kOk, m_around.toolkit);
        const std::string found = m_around.toolkitVersion != 0 ? dotted(m_around.toolkitVersion)
                                                               : "a version that is not known";
        add("gpu.toolkit", absent(),
            fmt::format("{} is of CUDA {}, and the GPU part is built with {}", m_around.toolkit,
                        found, dotted(kRuntimeVersion)),
            kGetToolkit);
    }

    void module() {
        if (!m_around.moduleFile) {
            add("gpu.module", absent(), "libshardscope_cuda.so is not beside shardscope-rank",
                kBuildModule);
            toolkit();
            return;
        }
        if (m_cuda == nullptr) return;  // the probe did not get there; see gpu.probe
        if (m_cuda->value("loaded", false)) {
            add("gpu.module", CheckStatus::kOk, "libshardscope_cuda.so");
            return;
        }
        const auto [found, remedy] = halves(text(*m_cuda, "problem"));
        add("gpu.module",
            m_around.wanted || !m_around.pci.empty() ? CheckStatus::kProblem : CheckStatus::kNote,
            found, remedy);
    }

    template <class Text>
    void version(const char* id, const char* what, const char* key, int wanted, const char* library,
                 const Text& words) {
        const std::int64_t found = number(*m_cuda, key);
        if (found == wanted) {
            add(id, CheckStatus::kOk, fmt::format("{} {}", what, words(found)));
            return;
        }
        const json& from = m_cuda->contains("loaded_from") ? (*m_cuda)["loaded_from"] : *m_cuda;
        const std::string path = text(from, library);
        add(id, CheckStatus::kProblem,
            fmt::format("{} {}{}; this build needs {}", what, words(found),
                        path.empty() ? "" : fmt::format(" from {}", path), words(wanted)),
            fmt::format("env -u LD_LIBRARY_PATH, or let the folder of the right {} come first in "
                        "it",
                        library));
    }

    void devices() {
        const std::string problem = m_cuda != nullptr ? text(*m_cuda, "problem") : "";
        const json& usable = devicesOf(m_cuda);
        if (m_cuda != nullptr && m_cuda->value("loaded", false)) {
            m_diagnosis.cuda = problem.empty() && !usable.empty();
            const bool driverMissing = number(*m_cuda, "device_error") == kNoDriver &&
                                       number(*m_cuda, "driver_version") == 0;
            if (!problem.empty() && !driverMissing) {
                const auto [found, remedy] = halves(problem);
                add("gpu.usable", CheckStatus::kProblem, found, remedy);
            }
            for (const json& device : usable) usableDevice(device);
            if (!usable.empty()) return;
        }
        // What the driver has, though CUDA or this build cannot use it.
        for (const json& device : devicesOf(m_driver))
            add(deviceId(), CheckStatus::kNote, deviceText(device) + usersText(device));
    }

    void usableDevice(const json& device) {
        const json* same = driverDevice(text(device, "pci_bus_id"));
        std::string found =
            deviceText(device) + ", compute capability " + text(device, "compute_capability");
        if (std::atof(text(device, "compute_capability").c_str()) < std::atof(kOldestCapability)) {
            m_diagnosis.cuda = false;
            add(deviceId(), CheckStatus::kProblem,
                found +
                    fmt::format(", older than {}, which this build is made for", kOldestCapability),
                "choose another with CUDA_VISIBLE_DEVICES");
            return;
        }
        if (same == nullptr) {
            add(deviceId(), CheckStatus::kOk, found);
            return;
        }
        const bool mig = same->value("mig", false);
        const std::string users = usersText(*same);
        if (mig) found += ", a slice (MIG mode)";
        add(deviceId(), mig || !users.empty() ? CheckStatus::kNote : CheckStatus::kOk,
            found + users,
            users.empty() ? "" : "end what uses it, or choose another with CUDA_VISIBLE_DEVICES");
    }

    /// Of the next device: "gpu.device_0".
    [[nodiscard]] std::string deviceId() { return fmt::format("gpu.device_{}", m_devices++); }

    /// NVML writes "00000000:17:00.0" where CUDA writes "0000:17:00.0".
    [[nodiscard]] const json* driverDevice(const std::string& bus) const {
        for (const json& device : devicesOf(m_driver)) {
            const std::string own = text(device, "pci_bus_id");
            if (!bus.empty() && own.size() >= bus.size() &&
                ::strcasecmp(own.c_str() + own.size() - bus.size(), bus.c_str()) == 0)
                return &device;
        }
        return nullptr;
    }

    [[nodiscard]] static std::string deviceText(const json& device) {
        return fmt::format("{} ({}), {}", text(device, "name"), text(device, "pci_bus_id"),
                           bytesText(number(device, "memory_bytes")));
    }

    [[nodiscard]] static std::string usersText(const json& device) {
        const auto list = device.find("processes");
        if (list == device.end() || !list->is_array() || list->empty()) return "";
        std::string users;
        for (const json& process : *list) {
            if (!users.empty()) users += ", ";
            users += fmt::format("pid {} {}", number(process, "pid"), text(process, "name"));
            if (const std::int64_t bytes = number(process, "memory_bytes"); bytes > 0)
                users += fmt::format(" {}", bytesText(bytes));
        }
        const std::int64_t used = number(device, "memory_used_bytes");
        return fmt::format(", in use{}: {}", used > 0 ? fmt::format(" {}", bytesText(used)) : "",
                           users);
    }

    const ProbeOutcome& m_probe;
    const GpuSurroundings& m_around;
    Diagnosis& m_diagnosis;
    const json* m_driver;
    const json* m_cuda;
    int m_devices = 0;  ///< told
};

}  // namespace

void addGpuChecks(const ProbeOutcome& probe, const GpuSurroundings& around, Diagnosis& diagnosis) {
    GpuChecks(probe, around, diagnosis).run();
    addTracingChecks(probe, around, diagnosis);
}

}  // namespace shardscope::cli
