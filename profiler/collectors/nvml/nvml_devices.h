// Which devices a host has and what they are, without CUDA.
#pragma once

#include "profiler/collectors/nvml/nvml_api.h"
#include "storage/model/units.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope::collectors {

struct NvmlDeviceFacts {
    NvmlDevice handle = nullptr;
    std::string name;
    std::string uuid;
    std::string pciBusId;  ///< "00000000:17:00.0"
    Bytes memory;
    bool mig = false;  ///< split into slices, which CUDA shows as devices of their own
};

[[nodiscard]] Result<std::string> nvmlDriverVersion(const NvmlApi& api);

/// In NVML's order, which CUDA_VISIBLE_DEVICES does not change.
[[nodiscard]] Result<std::vector<NvmlDeviceFacts>> nvmlDevices(const NvmlApi& api);

/// By CUDA's "0000:17:00.0", not by index: the two count differently. For a MIG slice this is
/// the whole device it was cut from.
[[nodiscard]] Result<NvmlDeviceFacts> nvmlDevice(const NvmlApi& api, const std::string& pciBusId);

}  // namespace shardscope::collectors
