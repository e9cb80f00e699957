// The counters of a device: lanes, words and units.
#pragma once

#include "profiler/capture/device_sink.h"
#include "storage/model/words.h"

#include <cstdint>

namespace shardscope::collectors {

enum class NvmlCounter : std::uint8_t {
    kPower,        ///< W, not averaged
    kEnergy,       ///< J since the driver was loaded
    kSmClock,      ///< Hz
    kMemoryClock,  ///< Hz
    kTemperature,  ///< degrees Celsius
    kPowerCapped,  ///< share of time clocks were held back for power
    kSoftThermal,  ///< for temperature, by the driver
    kHardThermal,  ///< for temperature, by the hardware
    kPcieSent,     ///< bytes/s
    kPcieReceived,
    kNvlinkSent,  ///< bytes/s, all links
    kNvlinkReceived,
    kMemoryOfOthers,  ///< bytes of other processes
    kSmBusy,          ///< share; GPM from here on
    kOccupancy,
    kTensorCores,
    kMemoryBandwidth,
};
/// What a counter is called, and its unit.
struct NvmlCounterWords {
    NvmlCounter value;
    const char* word;
    const char* unit;
};
constexpr auto wordsOf(NvmlCounter) {
    return wordList<NvmlCounterWords>(
        {{NvmlCounter::kPower, "power", "W"},
         {NvmlCounter::kEnergy, "energy", "J"},
         {NvmlCounter::kSmClock, "SM clock", "Hz"},
         {NvmlCounter::kMemoryClock, "memory clock", "Hz"},
         {NvmlCounter::kTemperature, "temperature", "degC"},
         {NvmlCounter::kPowerCapped, "held back: power limit", "1"},
         {NvmlCounter::kSoftThermal, "held back: temperature (driver)", "1"},
         {NvmlCounter::kHardThermal, "held back: temperature (hardware)", "1"},
         {NvmlCounter::kPcieSent, "PCIe sent", "bytes/s"},
         {NvmlCounter::kPcieReceived, "PCIe received", "bytes/s"},
         {NvmlCounter::kNvlinkSent, "NVLink sent", "bytes/s"},
         {NvmlCounter::kNvlinkReceived, "NVLink received", "bytes/s"},
         {NvmlCounter::kMemoryOfOthers, "memory of others", "bytes"},
         {NvmlCounter::kSmBusy, "SMs busy (sampled)", "1"},
         {NvmlCounter::kOccupancy, "SM occupancy (sampled)", "1"},
         {NvmlCounter::kTensorCores, "tensor cores (sampled)", "1"},
         {NvmlCounter::kMemoryBandwidth, "memory bandwidth (sampled)", "1"}});
}
inline constexpr int kNvmlCounterCount = static_cast<int>(kPlaces<NvmlCounter>);
[[nodiscard]] constexpr LaneId laneOf(NvmlCounter counter) {
    return lanes::kNvmlCounters.at(static_cast<std::size_t>(counter));
}
[[nodiscard]] constexpr const char* unitOf(NvmlCounter counter) {
    return entryOf(counter)->unit;
}

}  // namespace shardscope::collectors
