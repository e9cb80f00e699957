// What a device says of itself a few times a second: power, clocks, temperature, links, memory of
// others and, on Hopper and newer, how busy tensor cores and memory are.
//
// Samples cover 100 ms or more: they belong to steps, never to kernels. What a device does not
// have is noted once and left alone. One thread calls sample(); the rest is for any thread.
#pragma once

#include "profiler/capture/device_sink.h"
#include "profiler/collectors/nvml/nvml_devices.h"
#include "profiler/collectors/nvml/running_counter.h"
#include "storage/model/words.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::collectors {

// The counters of a device: lanes, words and units.

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

class NvmlSampler {
public:
    /// `api` and `sink` outlive it. Only whole devices have the counters of processes and of
    /// GPM: for a MIG slice the others are those of the device around it, which is noted.
    NvmlSampler(const NvmlApi& api, const NvmlDeviceFacts& device, std::int64_t pid,
                capture::DeviceSink& sink);
    ~NvmlSampler();
    NvmlSampler(const NvmlSampler&) = delete;
    NvmlSampler& operator=(const NvmlSampler&) = delete;

    /// Reads everything once. `hostNs`: CLOCK_MONOTONIC, rising. False once the device is lost.
    bool sample(std::int64_t hostNs);
    /// Reads what may wrap between two of the above: PCIe's counters of 32 bits do so every 67 ms
    /// at their fastest. In between, twice as often.
    bool sampleLinks(std::int64_t hostNs);

    /// The device's energy counter, J since the driver was loaded: two readings around a step
    /// give its energy. Of the whole device, for all processes that use it. Any thread.
    [[nodiscard]] std::optional<double> energyJoules() const;

    /// Device memory of this process as the driver sees it: the allocator's reservation, context,
    /// NCCL. Nothing in a container that hides its process ids. Any thread.
    [[nodiscard]] std::optional<Bytes> ownMemory() const;

private:
    enum class State : std::uint8_t { kFresh, kDeclared, kDropped };
    enum class Fields : std::uint8_t { kAll, kPcie };
    struct Counter {
        State state = State::kFresh;
        int failures = 0;  ///< in a row
        RunningCounter running;
    };
    struct Processes {
        int result = kNvmlSuccess;
        std::int64_t own = 0;
        std::int64_t others = 0;
        bool ownFound = false;
    };

    bool check(NvmlCounter counter, int result);
    void put(NvmlCounter counter, std::int64_t hostNs, double value);
    void putRate(NvmlCounter counter, std::int64_t hostNs, double scale);
    void drop(NvmlCounter counter, const std::string& why);
    void lose(int result);
    [[nodiscard]] bool wanted(NvmlCounter counter) const;
    void sampleFields(std::int64_t hostNs, Fields which);
    void takeField(std::int64_t hostNs, const NvmlFieldValue& field, Fields which);
    void sampleClocks(std::int64_t hostNs);
    void sampleTemperature(std::int64_t hostNs);
    void sampleReasons();
    void sampleProcesses(std::int64_t hostNs);
    void leaveOutForMig();
    void startGpm();
    void sampleGpm(std::int64_t hostNs);
    [[nodiscard]] Processes processes() const;
    void tell(Severity severity, const char* code, std::string message, std::string remedy);

    const NvmlApi& m_api;
    const NvmlDeviceFacts m_device;
    const std::int64_t m_pid;
    capture::DeviceSink& m_sink;
    std::array<Counter, kNvmlCounterCount> m_counters{};
    std::vector<CounterEvent> m_events;  ///< of one sample
    std::int64_t m_nowNs = 0;
    unsigned long long m_reasonsTold = 0;
    int m_strangers = 0;  ///< samples in a row whose processes are all unknown
    bool m_lost = false;

    NvmlGpmSample m_gpmPrevious = nullptr;
    NvmlGpmSample m_gpmCurrent = nullptr;
    std::int64_t m_gpmNs = 0;  ///< of m_gpmPrevious; 0: none yet
    std::unique_ptr<NvmlGpmMetrics> m_gpm;
};

}  // namespace shardscope::collectors
