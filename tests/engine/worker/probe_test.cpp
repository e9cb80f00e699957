#include "engine/worker/probe.h"

#include "tests/profiler/collectors/nvml/fake_nvml.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace shardscope::worker {
namespace {

using collectors::test::FakeNvml;
using collectors::test::fakeNvml;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class ProbeTest : public testing::Test {
protected:
    ProbeTest() { fakeNvml() = &m_nvml; }
    ~ProbeTest() override { fakeNvml() = nullptr; }
    FakeNvml m_nvml;
};

TEST_F(ProbeTest, TellsTheDriversDevicesAndWhoUsesThem) {
    m_nvml.mig = true;
    m_nvml.processes = {{static_cast<unsigned>(::getpid()), 3000, 0, 0}, {99, ~0ull, 0, 0}};
    const json part = json::parse(driverPart(collectors::test::fakeApi()));
    EXPECT_EQ(part.at("part"), "driver");
    EXPECT_EQ(part.at("version"), "580.95.05");
    EXPECT_TRUE(part.at("problem").is_null());
    ASSERT_EQ(part.at("devices").size(), 1u);
    const json& device = part.at("devices")[0];
    EXPECT_EQ(device.at("name"), "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(device.at("pci_bus_id"), "00000000:17:00.0");
    EXPECT_EQ(device.at("memory_bytes"), 85'000'000'000);
    EXPECT_EQ(device.at("memory_used_bytes"), 5'000'000'000);
    EXPECT_EQ(device.at("mig"), true);
    ASSERT_EQ(device.at("processes").size(), 2u);
    EXPECT_EQ(device.at("processes")[0].at("pid"), ::getpid());
    EXPECT_EQ(device.at("processes")[0].at("memory_bytes"), 3000);
    EXPECT_THAT(device.at("processes")[0].at("name").get<std::string>(), HasSubstr("worker_test"));
    EXPECT_TRUE(device.at("processes")[1].at("memory_bytes").is_null());
}

TEST_F(ProbeTest, ADriverThatListsNothingKeepsItsVersion) {
    collectors::NvmlApi api = collectors::test::fakeApi();
    api.deviceCount = [](unsigned*) { return int{collectors::kNvmlUnknown}; };
    const json part = json::parse(driverPart(api));
    EXPECT_EQ(part.at("version"), "580.95.05");
    EXPECT_THAT(part.at("problem").get<std::string>(), HasSubstr("Some Error"));
    EXPECT_TRUE(part.at("devices").empty());
}

TEST_F(ProbeTest, WhatADriverRefusesToTellIsLeftOut) {
    collectors::NvmlApi api = collectors::test::fakeApi();
    m_nvml.processResult = collectors::kNvmlNoPermission;
    api.memoryInfo = nullptr;
    const json device = json::parse(driverPart(api)).at("devices").at(0);
    EXPECT_TRUE(device.at("memory_used_bytes").is_null());
    EXPECT_TRUE(device.at("processes").empty());
    api.driverVersion = nullptr;
    const json part = json::parse(driverPart(api));
    EXPECT_TRUE(part.at("version").is_null());
    EXPECT_THAT(part.at("problem").get<std::string>(), HasSubstr("version"));
}

TEST_F(ProbeTest, TellsVersionsAndDevicesOfCuda) {
    CudaProbe found;
    found.driverVersion = 13010;
    found.runtimeVersion = 13000;
    found.cuptiVersion = 130001;
    found.ncclVersion = 22809;
    found.devices = {{"NVIDIA H200", "0000:17:00.0", "GPU-1", 150'000'000'000, 132, 9, 0}};
    const json part = json::parse(cudaPart(found));
    EXPECT_EQ(part.at("loaded"), true);
    EXPECT_TRUE(part.at("problem").is_null());
    EXPECT_EQ(part.at("cupti_version"), 130001);
    EXPECT_EQ(part.at("devices")[0].at("compute_capability"), "9.0");
    EXPECT_EQ(part.at("devices")[0].at("pci_bus_id"), "0000:17:00.0");
    found.devices.clear();
    EXPECT_THAT(json::parse(cudaPart(found)).at("problem").get<std::string>(),
                HasSubstr("shows no GPU"));
}

class SilentCollector final : public collectors::DeviceCollector {
public:
    void setLevel(capture::DeviceLevel) override {}
    void flush(bool) override {}
    [[nodiscard]] capture::DeviceCounts counts() const override { return {}; }
    [[nodiscard]] const capture::DeviceAnnotator& annotator() const override {
        static const capture::DeviceAnnotator none{};
        return none;
    }
};

TEST_F(ProbeTest, TellsWhetherTheTracerStarts) {
    CudaModule module;
    module.startTracing = [](capture::DeviceLevel level, capture::DeviceSink&) {
        EXPECT_EQ(level, capture::DeviceLevel::kKernels);
        return collectors::DeviceCollectorStart{std::make_unique<SilentCollector>(), std::nullopt};
    };
    EXPECT_EQ(json::parse(tracingPart(module)), json({{"part", "tracing"},
                                                      {"started", true},
                                                      {"code", ""},
                                                      {"message", ""},
                                                      {"remedy", ""}}));
    module.startTracing = [](capture::DeviceLevel, capture::DeviceSink&) {
        Diagnostic diagnostic;
        diagnostic.code = "cupti-busy";
        diagnostic.message = "'Nsight Systems' already traces this process";
        diagnostic.remedy = "End it.";
        return collectors::DeviceCollectorStart{nullptr, diagnostic};
    };
    const json part = json::parse(tracingPart(module));
    EXPECT_EQ(part.at("started"), false);
    EXPECT_EQ(part.at("code"), "cupti-busy");
    EXPECT_THAT(part.at("message").get<std::string>(), HasSubstr("Nsight"));
    EXPECT_EQ(part.at("remedy"), "End it.");
}

TEST_F(ProbeTest, TellsItsPartsInOrder) {
    std::vector<std::string> parts;
    probe([&](const std::string& line) {
        EXPECT_EQ(line.find('\n'), std::string::npos);
        parts.push_back(json::parse(line).at("part"));
    });
    // Where a device can be used the tracer is tried.
    std::erase(parts, "tracing");
    EXPECT_THAT(parts, ElementsAre("engine", "driver", "cuda", "end"));
}

}  // namespace
}  // namespace shardscope::worker
