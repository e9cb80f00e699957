#include "profiler/collectors/nvml/nvml_devices.h"

#include "profiler/collectors/nvml/nvml_sampler.h"
#include "tests/profiler/collectors/nvml/fake_nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace shardscope::collectors {
namespace {

using testing::HasSubstr;

TEST(NvmlLibrary, AMissingDriverIsASentence) {
    const auto library = NvmlLibrary::open("libno-such-nvml.so.1");
    ASSERT_FALSE(library);
    EXPECT_THAT(library.error().message, HasSubstr("no NVIDIA driver is installed"));
}

TEST(NvmlLibrary, AnotherLibraryIsNotNvml) {
    const auto library = NvmlLibrary::open("libm.so.6");
    ASSERT_FALSE(library);
    EXPECT_THAT(library.error().message, HasSubstr("nvmlInit_v2 is missing"));
}

TEST(NvmlDevices, ListsFactsWithoutCuda) {
    test::FakeNvml fake;
    test::fakeNvml() = &fake;
    fake.mig = true;
    const NvmlApi api = test::fakeApi();
    const auto devices = nvmlDevices(api);
    ASSERT_TRUE(devices);
    ASSERT_EQ(devices->size(), 1U);
    const NvmlDeviceFacts& device = devices->front();
    EXPECT_EQ(device.name, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(device.uuid, "GPU-0123");
    EXPECT_EQ(device.pciBusId, "00000000:17:00.0");
    EXPECT_EQ(device.memory.count, 85'000'000'000);
    EXPECT_TRUE(device.mig);
    EXPECT_EQ(nvmlDriverVersion(api).value_or(""), "580.95.05");
}

TEST(NvmlDevices, FindsADeviceByItsPciBusIdOrSaysWhyNot) {
    test::FakeNvml fake;
    test::fakeNvml() = &fake;
    const NvmlApi api = test::fakeApi();
    EXPECT_TRUE(nvmlDevice(api, "0000:17:00.0"));
    const auto missing = nvmlDevice(api, "0000:18:00.0");
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().message, HasSubstr("0000:18:00.0"));
}

TEST(NvmlDevices, AnEmptyTableFailsWithSentences) {
    const NvmlApi api;
    EXPECT_FALSE(nvmlDevices(api));
    EXPECT_FALSE(nvmlDriverVersion(api));
    const auto device = nvmlDevice(api, "0000:17:00.0");
    ASSERT_FALSE(device);
    EXPECT_THAT(device.error().message, HasSubstr("NVML error 13"));
}

TEST(NvmlDevices, OneWithOddAnswersIsStillADevice) {
    test::FakeNvml fake;
    test::fakeNvml() = &fake;
    NvmlApi api = test::fakeApi();
    api.name = nullptr;
    api.uuid = [](NvmlDevice, char*, unsigned) { return int{kNvmlUnknown}; };
    api.pciInfo = nullptr;
    api.memoryInfo = nullptr;
    api.migMode = [](NvmlDevice, unsigned*, unsigned*) { return int{kNvmlNotSupported}; };
    const auto devices = nvmlDevices(api);
    ASSERT_TRUE(devices);
    ASSERT_EQ(devices->size(), 1U);
    EXPECT_FALSE(devices->front().mig);
    EXPECT_EQ(devices->front().name, "");
    api.deviceByIndex = [](unsigned, NvmlDevice*) { return int{kNvmlNoPermission}; };
    const auto hidden = nvmlDevices(api);
    ASSERT_TRUE(hidden);
    EXPECT_TRUE(hidden->empty());
}

constexpr double kFastest = 64e9;
constexpr std::int64_t kMs = 1'000'000;

TEST(RunningCounter, TellsGrowthASecondOverAllReadings) {
    RunningCounter counter;
    EXPECT_FALSE(counter.take(1 * kMs));
    counter.read(1 * kMs, 100, kFastest);
    counter.read(11 * kMs, 300, kFastest);
    counter.read(21 * kMs, 600, kFastest);
    EXPECT_DOUBLE_EQ(counter.take(21 * kMs).value(), 500 / 0.02);
    counter.read(31 * kMs, 600, kFastest);
    EXPECT_DOUBLE_EQ(counter.take(31 * kMs).value(), 0);
}

TEST(RunningCounter, WhatCannotBeKnownIsNotTold) {
    RunningCounter counter;
    counter.read(1 * kMs, 1000, kFastest);
    static_cast<void>(counter.take(1 * kMs));
    counter.read(151 * kMs, 2000, kFastest);  // 0 or 2 rounds
    EXPECT_FALSE(counter.take(151 * kMs));
    counter.read(161 * kMs, 3000, kFastest);
    EXPECT_DOUBLE_EQ(counter.take(161 * kMs).value(), 1000 / 0.01);
    counter.read(171 * kMs, 10, kFastest);  // a wrap would be faster than the link
    EXPECT_FALSE(counter.take(171 * kMs));
}

TEST(RunningCounter, OfSixtyFourBitsNeedsNoHaste) {
    RunningCounter counter;
    counter.read(1 * kMs, 5e9, kFastest);
    static_cast<void>(counter.take(1 * kMs));
    counter.read(1001 * kMs, 6e9, kFastest);
    EXPECT_DOUBLE_EQ(counter.take(1001 * kMs).value(), 1e9);
    counter.read(2001 * kMs, 1000, kFastest);
    EXPECT_FALSE(counter.take(2001 * kMs));
}

/// Any traffic, read at any pace: what is told is what really went.
TEST(RunningCounter, IsExactOrSilent) {
    std::mt19937_64 random(7);
    for (int run = 0; run < 200; ++run) {
        RunningCounter counter;
        std::uint64_t total = random();
        std::uint64_t sinceTake = 0;
        std::int64_t now = kMs, takenAt = kMs;
        counter.read(now, static_cast<double>(static_cast<std::uint32_t>(total)), kFastest);
        static_cast<void>(counter.take(now));
        for (int reading = 0; reading < 50; ++reading) {
            const auto pause = static_cast<std::int64_t>(random() % 120 + 1) * kMs;
            const auto bytes = static_cast<std::uint64_t>(static_cast<double>(random() % 1000) /
                                                          1000 * 64 * static_cast<double>(pause));
            now += pause;
            total += bytes;
            sinceTake += bytes;
            counter.read(now, static_cast<double>(static_cast<std::uint32_t>(total)), kFastest);
            if (random() % 4 != 0) continue;
            const auto told = counter.take(now);
            const double really =
                static_cast<double>(sinceTake) / (static_cast<double>(now - takenAt) * 1e-9);
            if (told) {
                EXPECT_NEAR(*told, really, 1 + really * 1e-9);
            }
            sinceTake = 0;
            takenAt = now;
        }
    }
}

}  // namespace
}  // namespace shardscope::collectors
