#include "engine/worker/probe.h"

#include "engine/worker/cuda_library.h"
#include "profiler/collectors/nvml/nvml_devices.h"

#include <ATen/Version.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <torch/version.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace shardscope::worker {
namespace {

/// "3.10.2" of "Intel(R) MKL-DNN v3.10.2 (Git Hash f1d4...)".
std::string oneDnnVersion() {
    const std::string text = at::get_mkldnn_version();
    const auto from = text.find(" v");
    if (from == std::string::npos) return text;
    return text.substr(from + 2, text.find(' ', from + 2) - from - 2);
}

run::EnginePart enginePart() {
    // A LibTorch that was built for another processor loads, and dies here.
    const at::Tensor ones = at::ones({64, 64});
    const double entry = at::mm(ones, ones).data_ptr<float>()[0];
    return {TORCH_VERSION, oneDnnVersion(), at::get_cpu_capability(), std::abs(entry - 64) < 1e-6};
}

std::string processName(unsigned pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

Bytes bytesOf(unsigned long long count) {
    return {static_cast<std::int64_t>(count)};
}

std::vector<run::DeviceUser> usersOf(const collectors::NvmlApi& nvml,
                                     collectors::NvmlDevice device) {
    std::vector<collectors::NvmlProcess> processes(64);
    auto count = static_cast<unsigned>(processes.size());
    if (nvml.processes == nullptr ||
        nvml.processes(device, &count, processes.data()) != collectors::kNvmlSuccess)
        return {};
    processes.resize(count);
    std::vector<run::DeviceUser> users;
    for (const collectors::NvmlProcess& process : processes) {
        run::DeviceUser& user = users.emplace_back();
        user.pid = process.pid;
        user.name = processName(process.pid);
        if (process.usedBytes != std::numeric_limits<unsigned long long>::max())
            user.memory = bytesOf(process.usedBytes);
    }
    return users;
}

run::DriverDevice deviceOf(const collectors::NvmlApi& nvml,
                           const collectors::NvmlDeviceFacts& facts) {
    run::DriverDevice device;
    device.name = facts.name;
    device.pciBusId = facts.pciBusId;
    device.uuid = facts.uuid;
    device.memory = facts.memory;
    device.mig = facts.mig;
    collectors::NvmlMemory memory{};
    if (nvml.memoryInfo != nullptr &&
        nvml.memoryInfo(facts.handle, &memory) == collectors::kNvmlSuccess)
        device.memoryUsed = bytesOf(memory.used);
    device.users = usersOf(nvml, facts.handle);
    return device;
}

/// NVML's sentence is shown whole: what mends a driver the doctor knows better.
run::Obstacle obstacleOf(const Error& error) {
    return {"", error.message, ""};
}

run::DriverPart withoutDriver(const Error& error) {
    run::DriverPart part;
    part.problem = obstacleOf(error);
    return part;
}

run::CudaDevice deviceOf(const DeviceProperties& properties) {
    return {properties.name,
            properties.pciBusId,
            properties.uuid,
            {properties.memoryBytes},
            properties.multiprocessors,
            std::to_string(properties.major) + "." + std::to_string(properties.minor)};
}

/// The files that the loader took, by the name that was asked for.
std::map<std::string, std::string> loadedFrom() {
    std::map<std::string, std::string> found;
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

run::CudaPart withoutModule(const run::Obstacle& why) {
    run::CudaPart part;
    part.problem = why;
    return part;
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

run::DriverPart driverPart(const collectors::NvmlApi& nvml) {
    const auto version = collectors::nvmlDriverVersion(nvml);
    if (!version) return withoutDriver(version.error());
    const auto devices = collectors::nvmlDevices(nvml);
    run::DriverPart part;
    part.version = *version;
    part.problem = devices ? run::Obstacle{} : obstacleOf(devices.error());
    if (!devices) return part;
    for (const collectors::NvmlDeviceFacts& facts : *devices)
        part.devices.push_back(deviceOf(nvml, facts));
    return part;
}

run::CudaPart cudaPart(const CudaProbe& probe) {
    run::CudaPart part;
    part.loaded = true;
    part.problem = whyNoDevice(probe);
    part.driverVersion = probe.driverVersion;
    part.runtimeVersion = probe.runtimeVersion;
    part.cuptiVersion = probe.cuptiVersion;
    part.ncclVersion = probe.ncclVersion;
    for (const DeviceProperties& device : probe.devices) part.devices.push_back(deviceOf(device));
    part.loadedFrom = loadedFrom();
    return part;
}

run::TracingPart tracingPart(const CudaModule& module) {
    DiagnosticSink sink;
    // Kernels, not idle: some virtual GPUs let a tracer in and refuse this.
    const auto started = module.startTracing(capture::DeviceLevel::kKernels, sink);
    const Diagnostic said = started.diagnostic.value_or(Diagnostic{});
    return {started.collector != nullptr, {said.code, said.message, said.remedy}};
}

void probe(const std::function<void(const run::ProbePart&)>& tell) {
    tell(enginePart());
    {
        const auto nvml = collectors::NvmlLibrary::open();
        tell(nvml ? driverPart(nvml->api()) : withoutDriver(nvml.error()));
    }
    const auto module = loadCudaModule();
    if (module) {
        const run::CudaPart cuda = cudaPart((*module)->probe());
        tell(cuda);
        if (cuda.problem.none()) tell(tracingPart(**module));
    } else {
        tell(withoutModule(module.error()));
    }
    tell(run::EndPart{});
}

}  // namespace shardscope::worker
