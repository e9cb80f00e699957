// The part of NVML that is used, as a table of function pointers filled from the driver's library.
//
// Own declarations: the header is not part of the CUDA toolkit that we build with. Layouts follow
// nvml.h (frozen by versioned names). Tests put a fake table in its place. NVML is thread-safe.
#pragma once

#include "storage/model/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace shardscope::collectors {

using NvmlDevice = void*;     ///< nvmlDevice_t
using NvmlGpmSample = void*;  ///< nvmlGpmSample_t

/// nvmlReturn_t, as far as we tell codes apart.
enum NvmlReturn : int {
    kNvmlSuccess = 0,
    kNvmlInvalidArgument = 2,
    kNvmlNotSupported = 3,
    kNvmlNoPermission = 4,
    kNvmlNotFound = 6,
    kNvmlInsufficientSize = 7,
    kNvmlDriverNotLoaded = 9,
    kNvmlTimeout = 10,
    kNvmlFunctionNotFound = 13,
    kNvmlGpuIsLost = 15,
    kNvmlResetRequired = 16,
    kNvmlUnknown = 999,
};

enum class NvmlValueType : unsigned {
    kDouble,
    kUint,
    kUlong,
    kUlongLong,
    kSlongLong,
    kInt,
    kUshort
};

struct NvmlFieldValue {
    unsigned fieldId;
    unsigned scopeId;
    long long timestampUs;
    long long latencyUs;
    NvmlValueType valueType;
    int result;
    union {
        double d;
        int si;
        unsigned ui;
        unsigned long ul;
        unsigned long long ull;
        long long sll;
        unsigned short us;
    } value;
};
static_assert(sizeof(NvmlFieldValue) == 40 && offsetof(NvmlFieldValue, valueType) == 24 &&
              offsetof(NvmlFieldValue, result) == 28 && offsetof(NvmlFieldValue, value) == 32);

struct NvmlPciInfo {  // nvmlPciInfo_t of ..._v3
    char busIdLegacy[16];
    unsigned domain, bus, device, deviceId, subsystemId;
    char busId[32];
};
static_assert(sizeof(NvmlPciInfo) == 68);

struct NvmlMemory {  // nvmlMemory_t
    unsigned long long total, free, used;
};
static_assert(sizeof(NvmlMemory) == 24);

struct NvmlProcess {  // nvmlProcessInfo_t of ..._v3
    unsigned pid;
    unsigned long long usedBytes;  ///< all ones: not available
    unsigned gpuInstance, computeInstance;
};
static_assert(sizeof(NvmlProcess) == 24 && offsetof(NvmlProcess, usedBytes) == 8);

struct NvmlTemperature {  // nvmlTemperature_v1_t
    unsigned version;
    unsigned sensor;  ///< 0: of the device
    int celsius;
};
static_assert(sizeof(NvmlTemperature) == 12);
inline constexpr unsigned kNvmlTemperatureVersion = sizeof(NvmlTemperature) | 1u << 24;

struct NvmlGpmMetric {
    unsigned id;
    int result;
    double value;
    struct {
        char* shortName;
        char* longName;
        char* unit;
    } info;
};
static_assert(sizeof(NvmlGpmMetric) == 40);

/// The array grows with each header while the version stays 1: room for all that may come.
struct NvmlGpmMetrics {
    unsigned version;
    unsigned count;
    NvmlGpmSample first;
    NvmlGpmSample second;
    std::array<NvmlGpmMetric, 512> metrics;
};
static_assert(offsetof(NvmlGpmMetrics, metrics) == 24);

struct NvmlGpmSupport {
    unsigned version;
    unsigned supported;
};

/// All take their arguments as in nvml.h. Null: this driver does not have it.
struct NvmlApi {
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    const char* (*errorString)(int) = nullptr;
    int (*driverVersion)(char*, unsigned) = nullptr;
    int (*deviceCount)(unsigned*) = nullptr;
    int (*deviceByIndex)(unsigned, NvmlDevice*) = nullptr;
    int (*deviceByPciBusId)(const char*, NvmlDevice*) = nullptr;
    int (*name)(NvmlDevice, char*, unsigned) = nullptr;
    int (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
    int (*pciInfo)(NvmlDevice, NvmlPciInfo*) = nullptr;
    int (*memoryInfo)(NvmlDevice, NvmlMemory*) = nullptr;
    int (*migMode)(NvmlDevice, unsigned* current, unsigned* pending) = nullptr;
    int (*fieldValues)(NvmlDevice, int count, NvmlFieldValue*) = nullptr;
    int (*clock)(NvmlDevice, unsigned type, unsigned* mhz) = nullptr;  ///< SM 1, memory 2
    int (*temperature)(NvmlDevice, NvmlTemperature*) = nullptr;
    int (*temperatureOld)(NvmlDevice, unsigned sensor, unsigned* celsius) = nullptr;
    int (*clockReasons)(NvmlDevice, unsigned long long*) = nullptr;
    int (*processes)(NvmlDevice, unsigned* count, NvmlProcess*) = nullptr;
    int (*gpmSupport)(NvmlDevice, NvmlGpmSupport*) = nullptr;
    int (*gpmSampleAlloc)(NvmlGpmSample*) = nullptr;
    int (*gpmSampleFree)(NvmlGpmSample) = nullptr;
    int (*gpmSampleGet)(NvmlDevice, NvmlGpmSample) = nullptr;
    int (*gpmMetrics)(NvmlGpmMetrics*) = nullptr;
};

/// The driver's words for a result, e.g. "Not Supported".
[[nodiscard]] std::string nvmlText(const NvmlApi& api, int result);

/// The library, loaded and initialised.
class NvmlLibrary {
public:
    /// Fails with a sentence where there is no driver: a normal state.
    static Result<NvmlLibrary> open(const std::string& file = "libnvidia-ml.so.1");
    NvmlLibrary(NvmlLibrary&& other) noexcept;
    NvmlLibrary& operator=(NvmlLibrary&&) = delete;
    ~NvmlLibrary();

    [[nodiscard]] const NvmlApi& api() const { return m_api; }

private:
    NvmlLibrary(void* handle, const NvmlApi& api) : m_handle(handle), m_api(api) {}
    void* m_handle;
    NvmlApi m_api;
};

}  // namespace shardscope::collectors
