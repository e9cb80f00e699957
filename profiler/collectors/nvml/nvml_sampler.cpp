#include "profiler/collectors/nvml/nvml_sampler.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::collectors {
namespace {

struct Field {
    unsigned id;
    NvmlCounter counter;
    double scale;        ///< to the counter's unit
    double fastest = 0;  ///< of one that runs up: its most in a second; 0: it does not run
};
constexpr double kSecondNs = 1e9;
constexpr double kPcieBytes = 64e9;         ///< a second and direction: 16 lanes of generation 5
constexpr double kNvlinkKib = 1e12 / 1024;  ///< all links of generation 5
constexpr std::array<Field, 9> kFields{{
    // mW, instant: nvmlDeviceGetPowerUsage averages a second
    {186, NvmlCounter::kPower, 1e-3},
    {83, NvmlCounter::kEnergy, 1e-3},  // mJ
    {74, NvmlCounter::kPowerCapped, 1e-9, kSecondNs},
    {269, NvmlCounter::kSoftThermal, 1e-9, kSecondNs},
    {270, NvmlCounter::kHardThermal, 1e-9, kSecondNs},
    {197, NvmlCounter::kPcieSent, 1, kPcieBytes},
    {198, NvmlCounter::kPcieReceived, 1, kPcieBytes},
    {138, NvmlCounter::kNvlinkSent, 1024, kNvlinkKib},
    {139, NvmlCounter::kNvlinkReceived, 1024, kNvlinkKib},
}};
bool isPcie(const Field& field) {
    return field.counter == NvmlCounter::kPcieSent || field.counter == NvmlCounter::kPcieReceived;
}
bool isNvlink(const Field& field) {
    return field.counter == NvmlCounter::kNvlinkSent ||
           field.counter == NvmlCounter::kNvlinkReceived;
}
constexpr unsigned kEnergyField = 83;
constexpr unsigned kAllLinks = ~0u;

struct Metric {
    unsigned id;
    NvmlCounter counter;
};
constexpr std::array<Metric, 4> kMetrics{{{2, NvmlCounter::kSmBusy},
                                          {3, NvmlCounter::kOccupancy},
                                          {5, NvmlCounter::kTensorCores},
                                          {10, NvmlCounter::kMemoryBandwidth}}};
constexpr std::int64_t kGpmSpanNs = 100'000'000;

/// Reasons for low clocks that cost speed and are not the user's setting.
struct Reason {
    unsigned long long bit;
    const char* text;
    bool usual = false;  ///< at full load
};
constexpr std::array<Reason, 5> kReasons{{{0x4, "the power limit", true},
                                          {0x8, "a hardware slowdown"},
                                          {0x20, "temperature, by the driver"},
                                          {0x40, "temperature, by the hardware"},
                                          {0x80, "the power supply's brake"}}};

/// An error that will not go away by asking again.
bool lasting(int result) {
    return result == kNvmlNotSupported || result == kNvmlNoPermission ||
           result == kNvmlInvalidArgument || result == kNvmlFunctionNotFound ||
           result == kNvmlNotFound;
}
constexpr int kFailuresInARow = 10;

bool meansLost(int result) {
    return result == kNvmlGpuIsLost || result == kNvmlResetRequired;
}

double numberOf(const NvmlFieldValue& field) {
    switch (field.valueType) {
        case NvmlValueType::kDouble:
            return field.value.d;
        case NvmlValueType::kUint:
            return field.value.ui;
        case NvmlValueType::kUlong:
            return static_cast<double>(field.value.ul);
        case NvmlValueType::kUlongLong:
            return static_cast<double>(field.value.ull);
        case NvmlValueType::kSlongLong:
            return static_cast<double>(field.value.sll);
        case NvmlValueType::kInt:
            return field.value.si;
        case NvmlValueType::kUshort:
            return field.value.us;
    }
    return std::nan("");
}

}  // namespace

NvmlSampler::NvmlSampler(const NvmlApi& api, const NvmlDeviceFacts& device, std::int64_t pid,
                         capture::DeviceSink& sink)
    : m_api(api), m_device(device), m_pid(pid), m_sink(sink) {
    if (m_device.mig) {
        leaveOutForMig();
    } else {
        startGpm();
    }
}

void NvmlSampler::leaveOutForMig() {
    for (int i = static_cast<int>(NvmlCounter::kMemoryOfOthers); i < kNvmlCounterCount; ++i)
        m_counters[static_cast<std::size_t>(i)].state = State::kDropped;
    tell(Severity::kNote, "mig-counters",
         m_device.name + " at " + m_device.pciBusId +
             " is split by MIG: power, energy, clocks, temperature and links are those of the"
             " whole device, and tensor-core, memory-bandwidth and process counters are left out",
         "Compare such counters only between runs that had the whole device to themselves.");
}

NvmlSampler::~NvmlSampler() {
    for (NvmlGpmSample buffer : {m_gpmPrevious, m_gpmCurrent})
        if (buffer != nullptr) m_api.gpmSampleFree(buffer);
}

bool NvmlSampler::sample(std::int64_t hostNs) {
    m_nowNs = hostNs;
    m_events.clear();
    if (!m_lost) sampleFields(hostNs, Fields::kAll);
    if (!m_lost) sampleClocks(hostNs);
    if (!m_lost) sampleTemperature(hostNs);
    if (!m_lost) sampleReasons();
    if (!m_lost) sampleProcesses(hostNs);
    if (!m_lost) sampleGpm(hostNs);
    if (!m_events.empty()) m_sink.counters(m_events);
    return !m_lost;
}

bool NvmlSampler::wanted(NvmlCounter counter) const {
    return m_counters[static_cast<std::size_t>(counter)].state != State::kDropped;
}

/// Whether the reading may be used.
bool NvmlSampler::check(NvmlCounter counter, int result) {
    Counter& one = m_counters[static_cast<std::size_t>(counter)];
    if (result == kNvmlSuccess) {
        one.failures = 0;
        return one.state != State::kDropped;
    }
    if (meansLost(result)) {
        lose(result);
    } else if (one.state != State::kDropped &&
               (lasting(result) || ++one.failures >= kFailuresInARow)) {
        drop(counter, nvmlText(m_api, result));
    }
    return false;
}

void NvmlSampler::drop(NvmlCounter counter, const std::string& why) {
    m_counters[static_cast<std::size_t>(counter)].state = State::kDropped;
    tell(Severity::kNote, "device-counter-missing",
         "The counter \"" + std::string(toWord(counter)) + "\" of " + m_device.name +
             " is not recorded (NVML: " + why + ")",
         "Nothing is wrong with the run: this device, driver or permission does not offer it.");
}

void NvmlSampler::lose(int result) {
    if (std::exchange(m_lost, true)) return;
    tell(Severity::kProblem, "device-lost",
         m_device.name + " at " + m_device.pciBusId +
             " does not answer its driver any more (NVML: " + nvmlText(m_api, result) +
             "): the run cannot go on there",
         "Look for \"NVRM: Xid\" in the kernel's log (dmesg); 79 says that the device fell off the"
         " bus, 48, 63, 64, 94 and 95 speak of memory errors. Reset the device or restart the "
         "host.");
}

void NvmlSampler::tell(Severity severity, const char* code, std::string message,
                       std::string remedy) {
    Diagnostic diagnostic;
    diagnostic.severity = severity;
    diagnostic.code = code;
    diagnostic.message = std::move(message);
    diagnostic.remedy = std::move(remedy);
    diagnostic.time = m_sink.at(m_nowNs);
    m_sink.diagnostic(diagnostic);
}

void NvmlSampler::put(NvmlCounter counter, std::int64_t hostNs, double value) {
    Counter& one = m_counters[static_cast<std::size_t>(counter)];
    if (one.state == State::kFresh) {
        m_sink.declareLane(laneOf(counter), LaneRole::kCounter, toWord(counter), unitOf(counter));
        one.state = State::kDeclared;
    }
    m_events.push_back({m_sink.at(hostNs), laneOf(counter), value});
}

/// Growth of a running counter a second since the last; nothing for a while in which it cannot be
/// known.
void NvmlSampler::putRate(NvmlCounter counter, std::int64_t hostNs, double scale) {
    const auto growth = m_counters[static_cast<std::size_t>(counter)].running.take(hostNs);
    if (growth) put(counter, hostNs, *growth * scale);
}

bool NvmlSampler::sampleLinks(std::int64_t hostNs) {
    if (!m_lost) sampleFields(hostNs, Fields::kPcie);
    return !m_lost;
}

void NvmlSampler::sampleFields(std::int64_t hostNs, Fields which) {
    std::array<NvmlFieldValue, kFields.size()> values{};
    int count = 0;
    for (const Field& field : kFields) {
        if (!wanted(field.counter) || (which == Fields::kPcie && !isPcie(field))) continue;
        NvmlFieldValue& value = values[static_cast<std::size_t>(count++)];
        value.fieldId = field.id;
        value.scopeId = isNvlink(field) ? kAllLinks : 0;
    }
    if (count == 0) return;
    const int result = m_api.fieldValues == nullptr
                           ? int{kNvmlFunctionNotFound}
                           : m_api.fieldValues(m_device.handle, count, values.data());
    for (int i = 0; i < count && !m_lost; ++i) {
        NvmlFieldValue& value = values[static_cast<std::size_t>(i)];
        if (result != kNvmlSuccess) value.result = result;
        takeField(hostNs, value, which);
    }
}

void NvmlSampler::takeField(std::int64_t hostNs, const NvmlFieldValue& field, Fields which) {
    const auto known = std::find_if(kFields.begin(), kFields.end(),
                                    [&](const Field& one) { return one.id == field.fieldId; });
    if (known == kFields.end() || !check(known->counter, field.result)) return;
    const double value = numberOf(field);
    if (!std::isfinite(value)) return static_cast<void>(check(known->counter, kNvmlUnknown));
    if (known->fastest <= 0) return put(known->counter, hostNs, value * known->scale);
    m_counters[static_cast<std::size_t>(known->counter)].running.read(hostNs, value,
                                                                      known->fastest);
    if (which == Fields::kAll) putRate(known->counter, hostNs, known->scale);
}

void NvmlSampler::sampleClocks(std::int64_t hostNs) {
    constexpr std::array<std::pair<unsigned, NvmlCounter>, 2> kClocks{
        {{1, NvmlCounter::kSmClock}, {2, NvmlCounter::kMemoryClock}}};
    for (const auto& [type, counter] : kClocks) {
        if (!wanted(counter) || m_lost) continue;
        unsigned mhz = 0;
        const int result = m_api.clock == nullptr ? int{kNvmlFunctionNotFound}
                                                  : m_api.clock(m_device.handle, type, &mhz);
        if (check(counter, result)) put(counter, hostNs, mhz * 1e6);
    }
}

void NvmlSampler::sampleTemperature(std::int64_t hostNs) {
    if (!wanted(NvmlCounter::kTemperature)) return;
    NvmlTemperature now{kNvmlTemperatureVersion, 0, 0};
    int result = m_api.temperature == nullptr ? int{kNvmlFunctionNotFound}
                                              : m_api.temperature(m_device.handle, &now);
    if (lasting(result) && m_api.temperatureOld != nullptr) {  // drivers before 570
        unsigned celsius = 0;
        result = m_api.temperatureOld(m_device.handle, 0, &celsius);
        now.celsius = static_cast<int>(celsius);
    }
    if (check(NvmlCounter::kTemperature, result))
        put(NvmlCounter::kTemperature, hostNs, now.celsius);
}

/// Each reason once a run: the counters say how long it lasted.
void NvmlSampler::sampleReasons() {
    unsigned long long reasons = 0;
    if (m_api.clockReasons == nullptr) return;
    const int result = m_api.clockReasons(m_device.handle, &reasons);
    if (meansLost(result)) return lose(result);
    if (result != kNvmlSuccess) return;
    for (const Reason& reason : kReasons) {
        if ((reasons & reason.bit) == 0 || (m_reasonsTold & reason.bit) != 0) continue;
        m_reasonsTold |= reason.bit;
        const std::string what = m_device.name + " lowered its clocks because of " + reason.text;
        if (reason.usual)
            tell(Severity::kNote, "device-held-back",
                 what + ", for some time at least, as devices do at full load",
                 "The counter \"held back: power limit\" says when and how much.");
        else
            tell(Severity::kWarning, "device-held-back",
                 what + ": steps may be slower than they could be",
                 "Compare step times with the clock and power lanes; check cooling and power.");
    }
}

NvmlSampler::Processes NvmlSampler::processes() const {
    Processes found;
    if (m_api.processes == nullptr) {
        found.result = kNvmlFunctionNotFound;
        return found;
    }
    std::vector<NvmlProcess> list(64);
    auto count = static_cast<unsigned>(list.size());
    found.result = m_api.processes(m_device.handle, &count, list.data());
    if (found.result == kNvmlInsufficientSize) {
        list.resize(count + 16);
        count = static_cast<unsigned>(list.size());
        found.result = m_api.processes(m_device.handle, &count, list.data());
    }
    if (found.result != kNvmlSuccess) return found;
    list.resize(std::min<std::size_t>(count, list.size()));
    for (const NvmlProcess& process : list) {
        const bool own = process.pid == m_pid;
        found.ownFound |= own;
        if (process.usedBytes == ~0ull) continue;
        (own ? found.own : found.others) += static_cast<std::int64_t>(process.usedBytes);
    }
    return found;
}

void NvmlSampler::sampleProcesses(std::int64_t hostNs) {
    if (!wanted(NvmlCounter::kMemoryOfOthers)) return;
    const Processes found = processes();
    if (!check(NvmlCounter::kMemoryOfOthers, found.result)) return;
    // A container's process ids are not the host's: they cannot be matched.
    if (!found.ownFound && found.others > 0) {
        if (++m_strangers >= kFailuresInARow)
            drop(NvmlCounter::kMemoryOfOthers, "own process not listed, as in a container");
        return;
    }
    m_strangers = 0;
    put(NvmlCounter::kMemoryOfOthers, hostNs, static_cast<double>(found.others));
}

std::optional<Bytes> NvmlSampler::ownMemory() const {
    if (m_device.mig) return std::nullopt;
    const Processes found = processes();
    if (found.result != kNvmlSuccess || !found.ownFound || found.own == 0) return std::nullopt;
    return Bytes{found.own};
}

std::optional<double> NvmlSampler::energyJoules() const {
    NvmlFieldValue value{};
    value.fieldId = kEnergyField;
    if (m_api.fieldValues == nullptr ||
        m_api.fieldValues(m_device.handle, 1, &value) != kNvmlSuccess ||
        value.result != kNvmlSuccess)
        return std::nullopt;
    return numberOf(value) * 1e-3;
}

void NvmlSampler::startGpm() {
    NvmlGpmSupport support{1, 0};
    int result = kNvmlFunctionNotFound;
    if (m_api.gpmSupport != nullptr && m_api.gpmSampleAlloc != nullptr &&
        m_api.gpmSampleFree != nullptr && m_api.gpmSampleGet != nullptr &&
        m_api.gpmMetrics != nullptr)
        result = m_api.gpmSupport(m_device.handle, &support);
    if (result == kNvmlSuccess && support.supported == 0) result = kNvmlNotSupported;
    if (result == kNvmlSuccess) result = m_api.gpmSampleAlloc(&m_gpmPrevious);
    if (result == kNvmlSuccess) result = m_api.gpmSampleAlloc(&m_gpmCurrent);
    if (result == kNvmlSuccess) {
        m_gpm = std::make_unique<NvmlGpmMetrics>();
        return;
    }
    for (const Metric& metric : kMetrics)
        m_counters[static_cast<std::size_t>(metric.counter)].state = State::kDropped;
    tell(Severity::kNote, "device-counter-missing",
         "Tensor-core and memory-bandwidth use of " + m_device.name +
             " are not recorded (NVML: " + nvmlText(m_api, result) + ")",
         "They need a Hopper device or newer and a driver with GPM.");
}

void NvmlSampler::sampleGpm(std::int64_t hostNs) {
    if (!m_gpm || (m_gpmNs != 0 && hostNs - m_gpmNs < kGpmSpanNs)) return;
    const int taken = m_api.gpmSampleGet(m_device.handle, m_gpmCurrent);
    if (taken != kNvmlSuccess) {
        for (const Metric& metric : kMetrics) check(metric.counter, taken);
        return;
    }
    const bool pair = std::exchange(m_gpmNs, hostNs) != 0;
    std::swap(m_gpmPrevious, m_gpmCurrent);
    if (!pair) return;
    *m_gpm = {};
    m_gpm->version = 1;
    m_gpm->count = kMetrics.size();
    m_gpm->first = m_gpmCurrent;
    m_gpm->second = m_gpmPrevious;
    for (std::size_t i = 0; i < kMetrics.size(); ++i) m_gpm->metrics[i].id = kMetrics[i].id;
    const int result = m_api.gpmMetrics(m_gpm.get());
    for (std::size_t i = 0; i < kMetrics.size() && !m_lost; ++i) {
        const NvmlGpmMetric& metric = m_gpm->metrics[i];
        if (!check(kMetrics[i].counter, result != kNvmlSuccess ? result : metric.result)) continue;
        if (std::isfinite(metric.value)) put(kMetrics[i].counter, hostNs, metric.value / 100);
    }
}

}  // namespace shardscope::collectors
