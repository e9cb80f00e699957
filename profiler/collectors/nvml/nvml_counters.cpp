#include "profiler/collectors/nvml/nvml_counters.h"

#include <array>

namespace shardscope::collectors {

const char* toWord(NvmlCounter counter) {
    static constexpr std::array<const char*, kNvmlCounterCount> words{
        "power",
        "energy",
        "SM clock",
        "memory clock",
        "temperature",
        "held back: power limit",
        "held back: temperature (driver)",
        "held back: temperature (hardware)",
        "PCIe sent",
        "PCIe received",
        "NVLink sent",
        "NVLink received",
        "memory of others",
        "SMs busy (sampled)",
        "SM occupancy (sampled)",
        "tensor cores (sampled)",
        "memory bandwidth (sampled)"};
    return words[static_cast<std::size_t>(counter)];
}

const char* unitOf(NvmlCounter counter) {
    static constexpr std::array<const char*, kNvmlCounterCount> units{
        "W",       "J",       "Hz",      "Hz",    "degC", "1", "1", "1", "bytes/s",
        "bytes/s", "bytes/s", "bytes/s", "bytes", "1",    "1", "1", "1"};
    return units[static_cast<std::size_t>(counter)];
}

}  // namespace shardscope::collectors
