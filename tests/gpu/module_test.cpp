// What libshardscope_cuda.so says where there is no driver. Needs the libraries, not a GPU.
#include "tests/gpu/loaded_module.h"
#include "tests/gpu/recording_sink.h"

#include <gmock/gmock.h>

#include <filesystem>

namespace shardscope::worker {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class CudaModuleTest : public ::testing::Test {
protected:
    void SetUp() override {
        const LoadedModule& loaded = loadedModule();
        if (loaded.incomplete) {
            GTEST_SKIP()
                << loaded.error
                << "; packaging/fetch-libtorch --cuda fetches what the module needs to run";
        }
        ASSERT_NE(loaded.module, nullptr) << loaded.error;
        m_module = loaded.module;
    }
    [[nodiscard]] const CudaModule& module() const { return *m_module; }
    /// Whether this test's answer is that of a machine without a usable device.
    [[nodiscard]] bool withoutDevice() const { return module().probe().deviceError != 0; }

private:
    const CudaModule* m_module = nullptr;
};

/// The sentence of the DeviceError that `call` throws; empty when it throws none.
template <class Call>
std::string refusal(const Call& call) {
    try {
        call();
    } catch (const control::DeviceError& error) {
        return error.what();
    }
    return "";
}

TEST_F(CudaModuleTest, IsOfThisBuild) {
    EXPECT_EQ(module().version, CudaModule::kVersion);
}

TEST_F(CudaModuleTest, ProbesLibrariesAndDevices) {
    const CudaProbe probe = module().probe();
    EXPECT_EQ(probe.runtimeVersion, 13000);
    EXPECT_EQ(probe.cuptiVersion, 130001u);
    EXPECT_EQ(probe.ncclVersion, 22809);
    if (!std::filesystem::exists("/proc/driver/nvidia/version")) {
        EXPECT_EQ(probe.deviceError, 35) << probe.deviceErrorText;
        EXPECT_EQ(probe.driverVersion, 0);
    }
    EXPECT_EQ(probe.deviceError != 0, probe.devices.empty());
    EXPECT_EQ(probe.deviceError != 0, !probe.deviceErrorText.empty());
    for (const DeviceProperties& device : probe.devices) {
        EXPECT_THAT(device.uuid, ::testing::MatchesRegex("GPU-[0-9a-f-]{36}"));
        EXPECT_THAT(device.pciBusId, HasSubstr(":"));
        EXPECT_GT(device.memoryBytes, 0);
        EXPECT_GT(device.multiprocessors, 0);
    }
}

TEST_F(CudaModuleTest, SaysWhyADeviceCannotBeOpened) {
    if (!withoutDevice()) GTEST_SKIP() << "there is a device; see shardscope_gpu_test";
    EXPECT_THAT(refusal([&] { module().openDevice(0); }),
                AllOf(HasSubstr("choosing the device failed"), HasSubstr("driver")));
}

TEST_F(CudaModuleTest, SaysWhyAKernelCannotBeLaunched) {
    if (!withoutDevice()) GTEST_SKIP() << "there is a device; see shardscope_gpu_test";
    double sum = 0;
    const float value = 1;
    EXPECT_THAT(refusal([&] { module().kernels->sumOfSquares(&value, 1, &sum, nullptr); }),
                HasSubstr("failed: "));
}

TEST_F(CudaModuleTest, SaysWhyMatrixProductsCannotBeMeasured) {
    if (!withoutDevice()) GTEST_SKIP() << "there is a device; see shardscope_gpu_test";
    EXPECT_NE(refusal([&] { module().measureMatmul(8, 8, 8, DataType::kFloat32, false, 0.01); }),
              "");
}

TEST_F(CudaModuleTest, TracesNothingWithoutADriverAndSaysSo) {
    if (!withoutDevice()) GTEST_SKIP() << "there is a device; see shardscope_gpu_test";
    capture::RecordingSink sink;
    const auto start = module().startTracing(capture::DeviceLevel::kKernels, sink);
    EXPECT_EQ(start.collector, nullptr);
    ASSERT_TRUE(start.diagnostic);
    EXPECT_EQ(start.diagnostic->code, "cupti-unavailable");
}

TEST_F(CudaModuleTest, StartsNoTracerWhenNoneIsWanted) {
    capture::RecordingSink sink;
    const auto start = module().startTracing(capture::DeviceLevel::kNever, sink);
    EXPECT_EQ(start.collector, nullptr);
    EXPECT_FALSE(start.diagnostic);
}

TEST_F(CudaModuleTest, PutsNcclsCodesIntoWords) {
    const comm::NcclApi& nccl = *module().nccl;
    comm::NcclUniqueId id{};
    ASSERT_EQ(nccl.uniqueId(&id), comm::kNcclSuccess);
    EXPECT_NE(id, comm::NcclUniqueId{});
    EXPECT_THAT(nccl.errorText(1), HasSubstr("cuda"));
    EXPECT_STREQ(nccl.errorText(comm::kNcclSuccess), "no error");
    if (!withoutDevice()) return;
    comm::NcclHandle communicator;
    EXPECT_NE(nccl.initialise(&communicator, 1, &id, 0, "dp0"), comm::kNcclSuccess);
    EXPECT_EQ(communicator.handle, nullptr);
}

}  // namespace
}  // namespace shardscope::worker
