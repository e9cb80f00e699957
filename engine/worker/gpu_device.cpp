#include "engine/worker/gpu_device.h"

#include "engine/network/network_interface.h"
#include "engine/worker/cuda_library.h"

#include <fmt/format.h>

#include <cstdlib>

namespace shardscope::worker {
namespace {

using capture::DeviceLevel;

/// Read by NCCL and LibTorch when they are first used.
void setEnvironment(const run::RankStart& start, DeviceLevel level) {
    ::setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 0);
    if (level >= DeviceLevel::kFull) ::setenv("NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN", 1);
    // NCCL refuses two ranks on one device when they are on one host by this name.
    if (start.config.shareDevice) {
        ::setenv("NCCL_HOSTID", fmt::format("shardscope-rank-{}", start.rank).c_str(), 1);
    }
    // By the whole name: NCCL takes every interface that begins with it otherwise.
    if (const auto name = network::interfaceOf(start.address); name && !start.address.empty())
        ::setenv("NCCL_SOCKET_IFNAME", ("=" + *name).c_str(), 0);
}

}  // namespace

Result<GpuDevice> GpuDevice::find(const run::RankStart& start, DeviceLevel level) {
    setEnvironment(start, level);
    auto module = loadCudaModule();
    if (!module) return failure(ErrorCode::kLaunch, run::sentence(module.error()));
    CudaProbe probe = (*module)->probe();
    if (const run::Obstacle why = whyNoDevice(probe); !why.none())
        return failure(ErrorCode::kLaunch, run::sentence(why));
    auto index =
        chooseDevice(probe, start.localRank(), start.localSize(), start.config.shareDevice);
    if (!index) return failure(index);
    GpuDevice device(**module, std::move(probe), *index);
    device.describe(start);
    return device;
}

void GpuDevice::describe(const run::RankStart& start) {
    const DeviceProperties& device = m_probe.devices[static_cast<std::size_t>(m_index)];
    m_facts.rank = RankId{static_cast<std::uint32_t>(start.rank)};
    m_facts.name = device.name;
    m_facts.uuid = device.uuid;
    m_facts.pciBusId = device.pciBusId;
    m_facts.memory = {device.memoryBytes};
    m_facts.mig = device.name.find(" MIG ") != std::string::npos;
    const auto devices = static_cast<std::int32_t>(m_probe.devices.size());
    m_facts.sharedBy = (start.localSize() - m_index + devices - 1) / devices;
}

at::Device GpuDevice::tensors() const {
    const at::Device any(m_module->tensorDevice);
    return {any.type(), static_cast<at::DeviceIndex>(any.is_cpu() ? -1 : m_index)};
}

std::string GpuDevice::text() const {
    std::string text = fmt::format("{} ({})", m_facts.name, m_facts.pciBusId);
    if (m_facts.sharedBy > 1) text += fmt::format(", shared device of {} ranks", m_facts.sharedBy);
    return text;
}

std::map<std::string, std::string> GpuDevice::libraries() const {
    const auto dotted = [](std::int32_t version) {
        return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
    };
    const std::int32_t nccl = m_probe.ncclVersion;
    return {{"CUDA driver", dotted(m_probe.driverVersion)},
            {"CUDA runtime", dotted(m_probe.runtimeVersion)},
            {"CUPTI", std::to_string(m_probe.cuptiVersion)},
            {"NCCL", fmt::format("{}.{}.{}", nccl / 10000, nccl / 100 % 100, nccl % 100)}};
}

}  // namespace shardscope::worker
