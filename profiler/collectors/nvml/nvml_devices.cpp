#include "profiler/collectors/nvml/nvml_devices.h"

#include <array>

namespace shardscope::collectors {
namespace {

/// What cannot be read stays empty: a device with an odd answer is still a device.
NvmlDeviceFacts factsOf(const NvmlApi& api, NvmlDevice handle) {
    NvmlDeviceFacts facts;
    facts.handle = handle;
    std::array<char, 96> text{};
    if (api.name != nullptr && api.name(handle, text.data(), text.size()) == kNvmlSuccess)
        facts.name = text.data();
    if (api.uuid != nullptr && api.uuid(handle, text.data(), text.size()) == kNvmlSuccess)
        facts.uuid = text.data();
    NvmlPciInfo pci{};
    if (api.pciInfo != nullptr && api.pciInfo(handle, &pci) == kNvmlSuccess)
        facts.pciBusId = pci.busId;
    NvmlMemory memory{};
    if (api.memoryInfo != nullptr && api.memoryInfo(handle, &memory) == kNvmlSuccess)
        facts.memory = {static_cast<std::int64_t>(memory.total)};
    unsigned current = 0;
    unsigned pending = 0;
    if (api.migMode != nullptr && api.migMode(handle, &current, &pending) == kNvmlSuccess)
        facts.mig = current != 0;
    return facts;
}

tl::unexpected<Error> failed(const NvmlApi& api, const std::string& what, int result) {
    return failure(ErrorCode::kUnreadable, what + " (NVML: " + nvmlText(api, result) + ")");
}

}  // namespace

Result<std::string> nvmlDriverVersion(const NvmlApi& api) {
    std::array<char, 80> text{};
    const int result = api.driverVersion == nullptr ? int{kNvmlFunctionNotFound}
                                                    : api.driverVersion(text.data(), text.size());
    if (result != kNvmlSuccess) return failed(api, "the driver does not tell its version", result);
    return std::string(text.data());
}

Result<std::vector<NvmlDeviceFacts>> nvmlDevices(const NvmlApi& api) {
    unsigned count = 0;
    int result = api.deviceCount == nullptr || api.deviceByIndex == nullptr
                     ? int{kNvmlFunctionNotFound}
                     : api.deviceCount(&count);
    if (result != kNvmlSuccess) return failed(api, "the driver does not list its devices", result);
    std::vector<NvmlDeviceFacts> devices;
    for (unsigned i = 0; i < count; ++i) {
        NvmlDevice handle = nullptr;
        result = api.deviceByIndex(i, &handle);
        if (result == kNvmlNoPermission) continue;  // another container's
        if (result != kNvmlSuccess)
            return failed(api, "device " + std::to_string(i) + " does not answer", result);
        devices.push_back(factsOf(api, handle));
    }
    return devices;
}

Result<NvmlDeviceFacts> nvmlDevice(const NvmlApi& api, const std::string& pciBusId) {
    NvmlDevice handle = nullptr;
    const int result = api.deviceByPciBusId == nullptr
                           ? int{kNvmlFunctionNotFound}
                           : api.deviceByPciBusId(pciBusId.c_str(), &handle);
    if (result != kNvmlSuccess)
        return failed(api, "NVML does not know the device at " + pciBusId, result);
    return factsOf(api, handle);
}

}  // namespace shardscope::collectors
