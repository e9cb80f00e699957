// What `shardscope-rank --probe` tells `shardscope doctor`: one JSON object a line, its name under
// "part", in the order of ProbePart. The rank encodes, the doctor decodes.
//
// The probe may crash on its way or be of another build: what is missing or malformed in a part
// stays as it is here, and what is no known part is passed over.
#pragma once

#include "storage/model/units.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shardscope::run {

// What is in the way, and what mends it: two phrases that the doctor shows apart and a run's
// failure as one sentence.

/// Code of a host without NVIDIA driver: nothing of CUDA can be asked there.
inline constexpr const char* kNoDriverCode = "no-driver";

struct Obstacle {
    std::string code;    ///< stable: "no-driver", "driver-too-old", "cupti-busy"; may be empty
    std::string found;   ///< what is the matter; empty: nothing is in the way
    std::string remedy;  ///< what to do or to type; empty: not known

    [[nodiscard]] bool none() const { return found.empty(); }
};

/// "there is no NVIDIA driver on this host; install r580 or newer"
[[nodiscard]] inline std::string sentence(const Obstacle& obstacle) {
    return obstacle.remedy.empty() ? obstacle.found : obstacle.found + "; " + obstacle.remedy;
}

/// LibTorch on the CPU.
struct EnginePart {
    std::string libtorch;       ///< "2.11.0"
    std::string oneDnn;         ///< "3.10.2"
    std::string cpuCapability;  ///< "AVX2": the kernels that LibTorch chose
    bool computes = false;      ///< a product of matrices came out right
};

/// A process that holds memory of a device.
struct DeviceUser {
    std::int64_t pid = 0;
    std::string name;             ///< empty: not a process of this container
    std::optional<Bytes> memory;  ///< nullopt: the driver does not tell
};

/// A device in NVML's words.
struct DriverDevice {
    std::string name;      ///< "NVIDIA H200"
    std::string pciBusId;  ///< "00000000:17:00.0"
    std::string uuid;      ///< "GPU-..."
    Bytes memory;
    std::optional<Bytes> memoryUsed;  ///< nullopt: the driver does not tell
    bool mig = false;                 ///< split into slices
    std::vector<DeviceUser> users;
};

/// The NVIDIA driver, asked through NVML.
struct DriverPart {
    Obstacle problem;
    std::string version;  ///< "580.95.05"; empty: the driver does not tell
    std::vector<DriverDevice> devices;
};

/// A device in CUDA's words.
struct CudaDevice {
    std::string name;      ///< "NVIDIA H200"
    std::string pciBusId;  ///< "0000:17:00.0"
    std::string uuid;      ///< "GPU-..."
    Bytes memory;
    std::int32_t multiprocessors = 0;
    std::string computeCapability;  ///< "9.0"
};

/// The GPU part of this build, and what it finds. Versions are 0 where they are not known.
struct CudaPart {
    bool loaded = false;              ///< libshardscope_cuda.so and all that it needs
    Obstacle problem;                 ///< why it cannot be loaded, or why no device can be used
    std::int64_t driverVersion = 0;   ///< CUDA that the driver knows: 13000 for 13.0
    std::int64_t runtimeVersion = 0;  ///< 13000
    std::int64_t cuptiVersion = 0;    ///< 130001
    std::int64_t ncclVersion = 0;     ///< 22809
    std::vector<CudaDevice> devices;  ///< that CUDA can use
    std::map<std::string, std::string> loadedFrom;  ///< file, by the library asked for
};

/// Present where a device can be used.
struct TracingPart {
    bool started = false;
    Obstacle problem;  ///< why it did not start
};

/// The probe came to its end.
struct EndPart {};

using ProbePart = std::variant<EnginePart, DriverPart, CudaPart, TracingPart, EndPart>;

/// One line without its newline.
[[nodiscard]] std::string encodePart(const ProbePart& part);
/// nullopt: not a part that is known here.
[[nodiscard]] std::optional<ProbePart> decodePart(std::string_view line);

}  // namespace shardscope::run
