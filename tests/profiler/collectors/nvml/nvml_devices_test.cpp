#include "profiler/collectors/nvml/nvml_devices.h"

#include "tests/profiler/collectors/nvml/fake_nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace shardscope::collectors
