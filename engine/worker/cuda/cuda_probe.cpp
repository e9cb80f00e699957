#include "engine/comm/nccl/nccl_library.h"
#include "engine/worker/cuda/cuda_parts.h"

#include <cuda_runtime_api.h>
#include <cupti_result.h>
#include <cupti_version.h>

#include <array>
#include <cstddef>
#include <cstdio>

namespace shardscope::worker {
namespace {

/// As nvidia-smi writes it: GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx.
std::string uuidText(const cudaUUID_t& uuid) {
    std::string text = "GPU-";
    for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        std::array<char, 3> hex{};
        std::snprintf(hex.data(), hex.size(), "%02x",
                      static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
        text += hex.data();
    }
    return text;
}

DeviceProperties properties(int index) {
    DeviceProperties device;
    cudaDeviceProp found{};
    if (cudaGetDeviceProperties(&found, index) != cudaSuccess) {
        device.name = "device " + std::to_string(index) + " without properties";
        return device;
    }
    device.name = found.name;
    device.uuid = uuidText(found.uuid);
    device.memoryBytes = static_cast<std::int64_t>(found.totalGlobalMem);
    device.multiprocessors = found.multiProcessorCount;
    device.major = found.major;
    device.minor = found.minor;
    std::array<char, 32> bus{};
    if (cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), index) == cudaSuccess)
        device.pciBusId = bus.data();
    return device;
}

}  // namespace

CudaProbe probeCuda() {
    CudaProbe probe;
    int count = 0;
    const cudaError_t result = cudaGetDeviceCount(&count);
    probe.deviceError = result;
    if (result != cudaSuccess) {
        probe.deviceErrorText = cudaGetErrorString(result);
        count = 0;
    }
    static_cast<void>(cudaDriverGetVersion(&probe.driverVersion));
    static_cast<void>(cudaRuntimeGetVersion(&probe.runtimeVersion));
    static_cast<void>(cuptiGetVersion(&probe.cuptiVersion));
    static_cast<void>(comm::ncclLibrary().version(&probe.ncclVersion));
    for (int index = 0; index < count; ++index) probe.devices.push_back(properties(index));
    // What failed above is in the probe; later calls must not report it.
    static_cast<void>(cudaGetLastError());
    return probe;
}

}  // namespace shardscope::worker
