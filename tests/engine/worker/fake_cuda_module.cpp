// A libshardscope_cuda.so without CUDA, in the variants that a rank may meet. FAKE_MODULE says
// which: kRight, kOtherVersion or kNoTable; FAKE_MODULE_SYMBOL is what it exports.
#include "engine/worker/cuda_module.h"

#include <csignal>
#include <cstdlib>
#include <cstring>

#ifdef FAKE_MODULE_NEEDS
extern "C" int shardscopeFakeDependency();
#endif

namespace {

using namespace shardscope;
using worker::CudaModule;
using worker::CudaProbe;

enum class Variant { kRight, kOtherVersion, kNoTable };
constexpr Variant kVariant = Variant::FAKE_MODULE;

/// FAKE_PROBE: device error, driver version and number of devices, or "crash".
CudaProbe probe() {
    CudaProbe found;
    found.runtimeVersion = 13000;
    found.cuptiVersion = 130001;
    found.ncclVersion = 22809;
    const char* told = std::getenv("FAKE_PROBE");
    if (told == nullptr) return found;
    if (std::strcmp(told, "crash") == 0) std::raise(SIGSEGV);
    int devices = 0;
    if (std::sscanf(told, "%d %d %d", &found.deviceError, &found.driverVersion, &devices) != 3)
        std::abort();
    if (found.deviceError != 0) found.deviceErrorText = "words of the driver";
    for (int i = 0; i < devices; ++i)
        found.devices.push_back(
            {"NVIDIA H100", "0000:1b:00.0", "GPU-1", 80'000'000'000, 132, 9, 0});
#ifdef FAKE_MODULE_NEEDS
    found.runtimeVersion = shardscopeFakeDependency();
#endif
    return found;
}

collectors::DeviceCollectorStart startTracing(capture::DeviceLevel, capture::DeviceSink&) {
    Diagnostic busy;
    busy.severity = Severity::kWarning;
    busy.code = "cupti-busy";
    busy.message = "'Another Tool' already traces this process";
    busy.remedy = "End the other tool.";
    return {nullptr, busy};
}

control::DeviceRuntime& openDevice(std::int32_t) {
    throw control::DeviceError(control::DeviceFault::kOutOfMemory,
                               "creating the context failed: out of memory");
}

const CudaModule* table() {
    static CudaModule module;
    module.probe = &probe;
    module.startTracing = &startTracing;
    module.openDevice = &openDevice;
    if (kVariant == Variant::kOtherVersion) ++module.version;
    return kVariant == Variant::kNoTable ? nullptr : &module;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const CudaModule* FAKE_MODULE_SYMBOL();

const CudaModule* FAKE_MODULE_SYMBOL() {
    return table();
}
