#include "profiler/collectors/nvml/nvml_api.h"

#include <dlfcn.h>

#include <utility>

namespace shardscope::collectors {
namespace {

template <class Function>
void load(void* library, Function*& function, const char* symbol) {
    if (function == nullptr) function = reinterpret_cast<Function*>(dlsym(library, symbol));
}

NvmlApi tableOf(void* library) {
    NvmlApi api;
    load(library, api.init, "nvmlInit_v2");
    load(library, api.shutdown, "nvmlShutdown");
    load(library, api.errorString, "nvmlErrorString");
    load(library, api.driverVersion, "nvmlSystemGetDriverVersion");
    load(library, api.deviceCount, "nvmlDeviceGetCount_v2");
    load(library, api.deviceByIndex, "nvmlDeviceGetHandleByIndex_v2");
    load(library, api.deviceByPciBusId, "nvmlDeviceGetHandleByPciBusId_v2");
    load(library, api.name, "nvmlDeviceGetName");
    load(library, api.uuid, "nvmlDeviceGetUUID");
    load(library, api.pciInfo, "nvmlDeviceGetPciInfo_v3");
    load(library, api.memoryInfo, "nvmlDeviceGetMemoryInfo");
    load(library, api.migMode, "nvmlDeviceGetMigMode");
    load(library, api.fieldValues, "nvmlDeviceGetFieldValues");
    load(library, api.clock, "nvmlDeviceGetClockInfo");
    load(library, api.temperature, "nvmlDeviceGetTemperatureV");
    load(library, api.temperatureOld, "nvmlDeviceGetTemperature");
    load(library, api.clockReasons, "nvmlDeviceGetCurrentClocksEventReasons");
    load(library, api.clockReasons, "nvmlDeviceGetCurrentClocksThrottleReasons");  // before 535
    load(library, api.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
    load(library, api.gpmSupport, "nvmlGpmQueryDeviceSupport");
    load(library, api.gpmSampleAlloc, "nvmlGpmSampleAlloc");
    load(library, api.gpmSampleFree, "nvmlGpmSampleFree");
    load(library, api.gpmSampleGet, "nvmlGpmSampleGet");
    load(library, api.gpmMetrics, "nvmlGpmMetricsGet");
    return api;
}

}  // namespace

std::string nvmlText(const NvmlApi& api, int result) {
    const char* text = api.errorString == nullptr ? nullptr : api.errorString(result);
    return text != nullptr ? text : "NVML error " + std::to_string(result);
}

Result<NvmlLibrary> NvmlLibrary::open(const std::string& file) {
    void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        return failure(ErrorCode::kUnreadable,
                       file +
                           " is not there: no NVIDIA driver is installed, so there are no"
                           " power, clock and temperature readings");
    }
    const NvmlApi api = tableOf(handle);
    if (api.init == nullptr || api.shutdown == nullptr) {
        dlclose(handle);
        return failure(ErrorCode::kUnreadable,
                       file + " is not NVML (nvmlInit_v2 is missing): update the NVIDIA driver");
    }
    if (const int result = api.init(); result != kNvmlSuccess) {
        const std::string text = nvmlText(api, result);
        dlclose(handle);
        return failure(ErrorCode::kUnreadable, "NVML does not start (" + text +
                                                   "): check that nvidia-smi works on this host");
    }
    return NvmlLibrary(handle, api);
}

NvmlLibrary::NvmlLibrary(NvmlLibrary&& other) noexcept
    : m_handle(std::exchange(other.m_handle, nullptr)), m_api(other.m_api) {}

NvmlLibrary::~NvmlLibrary() {
    if (m_handle == nullptr) return;
    m_api.shutdown();
    dlclose(m_handle);
}

}  // namespace shardscope::collectors
