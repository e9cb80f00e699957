// The counters of a device: lanes, words and units.
#pragma once

#include "profiler/capture/device_sink.h"

#include <cstdint>

namespace shardscope::collectors {

/// First of the lanes; their order is that of NvmlCounter.
inline constexpr std::uint32_t kFirstNvmlLane = capture::kFirstDeviceCounterLane + 0x100;

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
inline constexpr int kNvmlCounterCount = 17;
[[nodiscard]] constexpr LaneId laneOf(NvmlCounter counter) {
    return {kFirstNvmlLane + static_cast<std::uint32_t>(counter)};
}
[[nodiscard]] const char* toWord(NvmlCounter counter);
[[nodiscard]] const char* unitOf(NvmlCounter counter);

}  // namespace shardscope::collectors
