// A driver with one device whose every answer a test may change. NVML's functions carry no
// pointer of ours, so there is one of it at a time.
#pragma once

#include "profiler/collectors/nvml/nvml_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

namespace shardscope::collectors::test {

struct FakeNvml {
    struct Field {
        NvmlValueType type = NvmlValueType::kUlongLong;
        unsigned long long value = 0;
        int result = kNvmlSuccess;
    };
    std::map<unsigned, Field> fields{{186, {NvmlValueType::kUint, 650'000}},
                                     {83, {NvmlValueType::kUlongLong, 5'000'000}},
                                     {74, {}},
                                     {269, {}},
                                     {270, {}},
                                     {197, {NvmlValueType::kUint, 1000}},
                                     {198, {NvmlValueType::kUint, 2000}},
                                     {138, {}},
                                     {139, {}}};
    int everything = kNvmlSuccess;  ///< result of all calls about the device
    std::map<unsigned, unsigned> clocks{{1, 1980}, {2, 2619}};
    int clockResult = kNvmlSuccess;
    int celsius = 61;
    unsigned long long reasons = 1;  // idle
    std::vector<NvmlProcess> processes{{77, 3000, 0, 0}, {88, 500, 0, 0}, {99, ~0ull, 0, 0}};
    int processResult = kNvmlSuccess;
    bool gpm = true;
    std::map<unsigned, double> metrics{{2, 98.0}, {3, 45.0}, {5, 61.5}, {10, 33.0}};
    std::map<unsigned, int> metricResults;
    bool mig = false;
    int gpmBuffers = 0;             ///< alive
    int gpmPairs = 0;               ///< metrics computed
    std::map<unsigned, int> asked;  ///< how often, by field
    unsigned linkScope = 0;
    unsigned gpmRoom = 0;
};

inline FakeNvml*& fakeNvml() {
    static FakeNvml* fake = nullptr;
    return fake;
}

inline const NvmlDevice kFakeDevice = reinterpret_cast<NvmlDevice>(std::uintptr_t{0x1234});

inline int fakeText(const char* text, char* out, unsigned size) {
    if (std::strlen(text) >= size) return kNvmlInsufficientSize;
    std::strcpy(out, text);
    return kNvmlSuccess;
}

inline int fakeFields(NvmlDevice, int count, NvmlFieldValue* values) {
    FakeNvml& fake = *fakeNvml();
    if (fake.everything != kNvmlSuccess) return fake.everything;
    for (int i = 0; i < count; ++i) {
        const FakeNvml::Field& field = fake.fields.at(values[i].fieldId);
        ++fake.asked[values[i].fieldId];
        if (values[i].fieldId == 138) fake.linkScope = values[i].scopeId;
        values[i].valueType = field.type;
        values[i].result = field.result;
        if (field.type == NvmlValueType::kUint)
            values[i].value.ui = static_cast<unsigned>(field.value);
        else
            values[i].value.ull = field.value;
    }
    return kNvmlSuccess;
}

inline int fakeProcesses(NvmlDevice, unsigned* count, NvmlProcess* list) {
    FakeNvml& fake = *fakeNvml();
    if (fake.processResult != kNvmlSuccess) return fake.processResult;
    const auto room = *count;
    *count = static_cast<unsigned>(fake.processes.size());
    if (room < *count) return kNvmlInsufficientSize;
    std::copy(fake.processes.begin(), fake.processes.end(), list);
    return kNvmlSuccess;
}

inline int fakeGpmMetrics(NvmlGpmMetrics* get) {
    FakeNvml& fake = *fakeNvml();
    if (get->version != 1 || get->first == nullptr || get->second == nullptr ||
        get->first == get->second)
        return kNvmlInvalidArgument;
    ++fake.gpmPairs;
    fake.gpmRoom = static_cast<unsigned>(get->metrics.size());
    for (unsigned i = 0; i < get->count; ++i) {
        NvmlGpmMetric& metric = get->metrics[i];
        metric.result = fake.metricResults[metric.id];
        metric.value = fake.metrics.at(metric.id);
    }
    return kNvmlSuccess;
}

inline NvmlApi fakeApi() {
    NvmlApi api;
    api.errorString = [](int result) -> const char* {
        return result == kNvmlNotSupported ? "Not Supported" : "Some Error";
    };
    api.driverVersion = [](char* out, unsigned size) { return fakeText("580.95.05", out, size); };
    api.deviceCount = [](unsigned* count) {
        *count = 1;
        return int{kNvmlSuccess};
    };
    api.deviceByIndex = [](unsigned, NvmlDevice* device) {
        *device = kFakeDevice;
        return int{kNvmlSuccess};
    };
    api.deviceByPciBusId = [](const char* id, NvmlDevice* device) {
        *device = kFakeDevice;
        return int{std::strcmp(id, "0000:17:00.0") == 0 ? kNvmlSuccess : kNvmlNotFound};
    };
    api.name = [](NvmlDevice, char* out, unsigned size) {
        return fakeText("NVIDIA H100 80GB HBM3", out, size);
    };
    api.uuid = [](NvmlDevice, char* out, unsigned size) { return fakeText("GPU-0123", out, size); };
    api.pciInfo = [](NvmlDevice, NvmlPciInfo* info) {
        return fakeText("00000000:17:00.0", info->busId, sizeof info->busId);
    };
    api.memoryInfo = [](NvmlDevice, NvmlMemory* memory) {
        *memory = {85'000'000'000, 80'000'000'000, 5'000'000'000};
        return int{kNvmlSuccess};
    };
    api.migMode = [](NvmlDevice, unsigned* current, unsigned* pending) {
        *current = *pending = fakeNvml()->mig ? 1 : 0;
        return int{kNvmlSuccess};
    };
    api.fieldValues = &fakeFields;
    api.clock = [](NvmlDevice, unsigned type, unsigned* mhz) {
        *mhz = fakeNvml()->clocks.at(type);
        return fakeNvml()->clockResult;
    };
    api.temperature = [](NvmlDevice, NvmlTemperature* temperature) {
        if (temperature->version != 0x100000c) return int{kNvmlInvalidArgument};
        temperature->celsius = fakeNvml()->celsius;
        return int{kNvmlSuccess};
    };
    api.clockReasons = [](NvmlDevice, unsigned long long* reasons) {
        *reasons = fakeNvml()->reasons;
        return int{kNvmlSuccess};
    };
    api.processes = &fakeProcesses;
    api.gpmSupport = [](NvmlDevice, NvmlGpmSupport* support) {
        support->supported = fakeNvml()->gpm ? 1 : 0;
        return int{support->version == 1 ? kNvmlSuccess : kNvmlInvalidArgument};
    };
    api.gpmSampleAlloc = [](NvmlGpmSample* sample) {
        *sample = new int(++fakeNvml()->gpmBuffers);
        return int{kNvmlSuccess};
    };
    api.gpmSampleFree = [](NvmlGpmSample sample) {
        --fakeNvml()->gpmBuffers;
        delete static_cast<int*>(sample);
        return int{kNvmlSuccess};
    };
    api.gpmSampleGet = [](NvmlDevice, NvmlGpmSample) { return int{kNvmlSuccess}; };
    api.gpmMetrics = &fakeGpmMetrics;
    return api;
}

/// Keeps what a device tells.
class KeptSink final : public capture::DeviceSink {
public:
    Timestamp at(std::int64_t hostNs) const override { return {hostNs}; }
    StringId intern(std::string_view) override { return {}; }
    void declareLane(LaneId lane, LaneRole role, const std::string& name,
                     const std::string& unit) override {
        EXPECT_EQ(role, LaneRole::kCounter);
        EXPECT_TRUE(lanes.emplace(lane, name + " [" + unit + "]").second) << name << " twice";
    }
    void spans(const std::vector<SpanEvent>&) override {}
    void counters(const std::vector<CounterEvent>& events) override {
        const std::lock_guard lock(m_mutex);
        for (const CounterEvent& event : events) samples[event.lane].push_back(event);
        ++batches;
    }
    void collectiveKernel(const capture::CollectiveKernel&) override {}
    void diagnostic(const Diagnostic& diagnostic) override { said.push_back(diagnostic); }

    [[nodiscard]] std::vector<double> of(NvmlCounter counter) {
        std::vector<double> values;
        for (const CounterEvent& event : samples[laneOf(counter)]) values.push_back(event.value);
        return values;
    }
    [[nodiscard]] int countOf(const std::string& code) const {
        int count = 0;
        for (const Diagnostic& diagnostic : said) count += diagnostic.code == code;
        return count;
    }
    std::map<LaneId, std::string> lanes;
    std::map<LaneId, std::vector<CounterEvent>> samples;
    std::vector<Diagnostic> said;
    std::atomic<int> batches{0};

private:
    std::mutex m_mutex;
};

}  // namespace shardscope::collectors::test
