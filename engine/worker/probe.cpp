#include "engine/worker/probe.h"

#include "engine/worker/cuda_library.h"
#include "profiler/collectors/nvml/nvml_devices.h"

#include <ATen/Version.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <nlohmann/json.hpp>
#include <torch/version.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <vector>

namespace shardscope::worker {
namespace {

using Json = nlohmann::ordered_json;

std::string line(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// "3.10.2" of "Intel(R) MKL-DNN v3.10.2 (Git Hash f1d4...)".
std::string oneDnnVersion() {
    const std::string text = at::get_mkldnn_version();
    const auto from = text.find(" v");
    if (from == std::string::npos) return text;
    return text.substr(from + 2, text.find(' ', from + 2) - from - 2);
}

std::string enginePart() {
    // A LibTorch that was built for another processor loads, and dies here.
    const at::Tensor ones = at::ones({64, 64});
    const double entry = at::mm(ones, ones).data_ptr<float>()[0];
    return line({{"part", "engine"},
                 {"libtorch", TORCH_VERSION},
                 {"one_dnn", oneDnnVersion()},
                 {"cpu_capability", at::get_cpu_capability()},
                 {"computes", std::abs(entry - 64) < 1e-6}});
}

std::string processName(unsigned pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

/// Bytes null: the driver does not tell them; name empty: not a process of this container.
Json processesOf(const collectors::NvmlApi& nvml, collectors::NvmlDevice device) {
    std::vector<collectors::NvmlProcess> processes(64);
    auto count = static_cast<unsigned>(processes.size());
    Json list = Json::array();
    if (nvml.processes == nullptr ||
        nvml.processes(device, &count, processes.data()) != collectors::kNvmlSuccess)
        return list;
    processes.resize(count);
    for (const collectors::NvmlProcess& process : processes) {
        const bool known = process.usedBytes != std::numeric_limits<unsigned long long>::max();
        list.push_back({{"pid", process.pid},
                        {"name", processName(process.pid)},
                        {"memory_bytes", known ? Json(process.usedBytes) : Json()}});
    }
    return list;
}

Json deviceOf(const collectors::NvmlApi& nvml, const collectors::NvmlDeviceFacts& facts) {
    collectors::NvmlMemory memory{};
    const bool known = nvml.memoryInfo != nullptr &&
                       nvml.memoryInfo(facts.handle, &memory) == collectors::kNvmlSuccess;
    return {{"name", facts.name},
            {"pci_bus_id", facts.pciBusId},
            {"uuid", facts.uuid},
            {"memory_bytes", facts.memory.count},
            {"memory_used_bytes", known ? Json(memory.used) : Json()},
            {"mig", facts.mig},
            {"processes", processesOf(nvml, facts.handle)}};
}

std::string driverProblem(const std::string& sentence) {
    return line({{"part", "driver"},
                 {"problem", sentence},
                 {"version", Json()},
                 {"devices", Json::array()}});
}

/// The files that the loader took, by the name that was asked for.
Json loadedFrom() {
    Json found = Json::object();
    std::ifstream maps("/proc/self/maps");
    for (std::string text; std::getline(maps, text);) {
        for (const char* name : {"libcupti.so.13", "libcudart.so.13", "libnccl.so.2"}) {
            const auto path = text.find('/');
            if (path == std::string::npos || text.find(name, path) == std::string::npos) continue;
            found[name] = text.substr(path);
        }
    }
    return found;
}

std::string withoutModule(const std::string& sentence) {
    return line({{"part", "cuda"}, {"loaded", false}, {"problem", sentence}});
}

/// Takes the one word that matters here.
class DiagnosticSink final : public capture::DeviceSink {
public:
    [[nodiscard]] Timestamp at(std::int64_t hostNs) const override { return {hostNs}; }
    StringId intern(std::string_view) override { return {}; }
    void declareLane(LaneId, LaneRole, const std::string&, const std::string&) override {}
    void spans(const std::vector<SpanEvent>&) override {}
    void counters(const std::vector<CounterEvent>&) override {}
    void collectiveKernel(const capture::CollectiveKernel&) override {}
    void diagnostic(const Diagnostic&) override {}
};

}  // namespace

std::string driverPart(const collectors::NvmlApi& nvml) {
    const auto version = collectors::nvmlDriverVersion(nvml);
    if (!version) return driverProblem(version.error().message);
    const auto devices = collectors::nvmlDevices(nvml);
    Json list = Json::array();
    if (devices) {
        for (const collectors::NvmlDeviceFacts& facts : *devices)
            list.push_back(deviceOf(nvml, facts));
    }
    return line({{"part", "driver"},
                 {"problem", devices ? Json() : Json(devices.error().message)},
                 {"version", *version},
                 {"devices", list}});
}

std::string cudaPart(const CudaProbe& probe) {
    const std::string why = run::sentence(whyNoDevice(probe));
    Json devices = Json::array();
    for (const DeviceProperties& device : probe.devices) {
        devices.push_back({{"name", device.name},
                           {"pci_bus_id", device.pciBusId},
                           {"uuid", device.uuid},
                           {"memory_bytes", device.memoryBytes},
                           {"multiprocessors", device.multiprocessors},
                           {"compute_capability",
                            std::to_string(device.major) + "." + std::to_string(device.minor)}});
    }
    return line({{"part", "cuda"},
                 {"loaded", true},
                 {"problem", why.empty() ? Json() : Json(why)},
                 {"device_error", probe.deviceError},
                 {"driver_version", probe.driverVersion},
                 {"runtime_version", probe.runtimeVersion},
                 {"cupti_version", probe.cuptiVersion},
                 {"nccl_version", probe.ncclVersion},
                 {"devices", devices},
                 {"loaded_from", loadedFrom()}});
}

std::string tracingPart(const CudaModule& module) {
    DiagnosticSink sink;
    // Kernels, not idle: some virtual GPUs let a tracer in and refuse this.
    const auto started = module.startTracing(capture::DeviceLevel::kKernels, sink);
    const Diagnostic said = started.diagnostic.value_or(Diagnostic{});
    return line({{"part", "tracing"},
                 {"started", started.collector != nullptr},
                 {"code", said.code},
                 {"message", said.message},
                 {"remedy", said.remedy}});
}

void probe(const std::function<void(const std::string&)>& tell) {
    tell(enginePart());
    {
        const auto nvml = collectors::NvmlLibrary::open();
        tell(nvml ? driverPart(nvml->api()) : driverProblem(nvml.error().message));
    }
    const auto module = loadCudaModule();
    if (module) {
        const CudaProbe found = (*module)->probe();
        tell(cudaPart(found));
        if (whyNoDevice(found).none()) tell(tracingPart(**module));
    } else {
        tell(withoutModule(run::sentence(module.error())));
    }
    tell(line({{"part", "end"}}));
}

}  // namespace shardscope::worker
