#include "engine/worker/probe.h"

#include "tests/profiler/collectors/nvml/fake_nvml.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <variant>
#include <vector>

namespace shardscope::worker {
namespace {

using collectors::test::FakeNvml;
using collectors::test::fakeNvml;
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
    const run::DriverPart part = driverPart(collectors::test::fakeApi());
    EXPECT_EQ(part.version, "580.95.05");
    EXPECT_TRUE(part.problem.none());
    ASSERT_EQ(part.devices.size(), 1u);
    const run::DriverDevice& device = part.devices[0];
    EXPECT_EQ(device.name, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(device.pciBusId, "00000000:17:00.0");
    EXPECT_EQ(device.memory, Bytes{85'000'000'000});
    EXPECT_EQ(device.memoryUsed, Bytes{5'000'000'000});
    EXPECT_TRUE(device.mig);
    ASSERT_EQ(device.users.size(), 2u);
    EXPECT_EQ(device.users[0].pid, ::getpid());
    EXPECT_EQ(device.users[0].memory, Bytes{3000});
    EXPECT_THAT(device.users[0].name, HasSubstr("worker_test"));
    EXPECT_FALSE(device.users[1].memory);
}

TEST_F(ProbeTest, ADriverThatListsNothingKeepsItsVersion) {
    collectors::NvmlApi api = collectors::test::fakeApi();
    api.deviceCount = [](unsigned*) { return int{collectors::kNvmlUnknown}; };
    const run::DriverPart part = driverPart(api);
    EXPECT_EQ(part.version, "580.95.05");
    EXPECT_THAT(part.problem.found, HasSubstr("Some Error"));
    EXPECT_TRUE(part.devices.empty());
}

TEST_F(ProbeTest, WhatADriverRefusesToTellIsLeftOut) {
    collectors::NvmlApi api = collectors::test::fakeApi();
    m_nvml.processResult = collectors::kNvmlNoPermission;
    api.memoryInfo = nullptr;
    const run::DriverDevice device = driverPart(api).devices.at(0);
    EXPECT_FALSE(device.memoryUsed);
    EXPECT_TRUE(device.users.empty());
    api.driverVersion = nullptr;
    const run::DriverPart part = driverPart(api);
    EXPECT_EQ(part.version, "");
    EXPECT_THAT(part.problem.found, HasSubstr("version"));
}

TEST_F(ProbeTest, TellsVersionsAndDevicesOfCuda) {
    CudaProbe found;
    found.driverVersion = 13010;
    found.runtimeVersion = 13000;
    found.cuptiVersion = 130001;
    found.ncclVersion = 22809;
    found.devices = {{"NVIDIA H200", "0000:17:00.0", "GPU-1", 150'000'000'000, 132, 9, 0}};
    const run::CudaPart part = cudaPart(found);
    EXPECT_TRUE(part.loaded);
    EXPECT_TRUE(part.problem.none());
    EXPECT_EQ(part.cuptiVersion, 130001);
    ASSERT_EQ(part.devices.size(), 1u);
    EXPECT_EQ(part.devices[0].computeCapability, "9.0");
    EXPECT_EQ(part.devices[0].pciBusId, "0000:17:00.0");
    EXPECT_EQ(part.devices[0].memory, Bytes{150'000'000'000});
    found.devices.clear();
    EXPECT_THAT(cudaPart(found).problem.found, HasSubstr("shows no GPU"));
}

class SilentCollector final : public collectors::DeviceCollector {
public:
    void setLevel(capture::DeviceLevel) override {}
    [[nodiscard]] bool wantsIdle() const override { return false; }
    void deviceIdle() override {}
    bool flush(bool, std::chrono::milliseconds) override { return true; }
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
    const run::TracingPart started = tracingPart(module);
    EXPECT_TRUE(started.started);
    EXPECT_TRUE(started.problem.none());
    module.startTracing = [](capture::DeviceLevel, capture::DeviceSink&) {
        Diagnostic diagnostic;
        diagnostic.code = "cupti-busy";
        diagnostic.message = "'Nsight Systems' already traces this process";
        diagnostic.remedy = "End it.";
        return collectors::DeviceCollectorStart{nullptr, diagnostic};
    };
    const run::TracingPart refused = tracingPart(module);
    EXPECT_FALSE(refused.started);
    EXPECT_EQ(refused.problem.code, "cupti-busy");
    EXPECT_THAT(refused.problem.found, HasSubstr("Nsight"));
    EXPECT_EQ(refused.problem.remedy, "End it.");
}

TEST_F(ProbeTest, TellsItsPartsInOrder) {
    std::vector<run::ProbePart> parts;
    probe([&](const run::ProbePart& part) { parts.push_back(part); });
    // Where a device can be used the tracer is tried.
    std::erase_if(parts, [](const run::ProbePart& part) {
        return std::holds_alternative<run::TracingPart>(part);
    });
    ASSERT_EQ(parts.size(), 4u);
    EXPECT_TRUE(std::holds_alternative<run::EnginePart>(parts[0]));
    EXPECT_TRUE(std::holds_alternative<run::DriverPart>(parts[1]));
    EXPECT_TRUE(std::holds_alternative<run::CudaPart>(parts[2]));
    EXPECT_TRUE(std::holds_alternative<run::EndPart>(parts[3]));
}

}  // namespace
}  // namespace shardscope::worker
