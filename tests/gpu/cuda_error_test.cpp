// CUDA's codes as faults and sentences; needs libcudart, no driver.
#include "engine/kernels/cuda/cuda_error.h"

#include <gmock/gmock.h>

namespace shardscope::kernels::device {
namespace {

using control::DeviceFault;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CudaError, TellsWhatAProcessCanSurvive) {
    EXPECT_EQ(faultOf(cudaErrorMemoryAllocation), DeviceFault::kOutOfMemory);
    for (cudaError_t code :
         {cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorECCUncorrectable,
          cudaErrorNvlinkUncorrectable, cudaErrorAssert, cudaErrorLaunchTimeout, cudaErrorUnknown})
        EXPECT_EQ(faultOf(code), DeviceFault::kLost) << code;
    for (cudaError_t code : {cudaErrorInvalidValue, cudaErrorInvalidDevice, cudaErrorNoDevice,
                             cudaErrorInsufficientDriver, cudaErrorDevicesUnavailable})
        EXPECT_EQ(faultOf(code), DeviceFault::kOther) << code;
}

TEST(CudaError, SaysWhatFailedWhyAndWhatToDo) {
    const auto error = deviceError(cudaErrorMemoryAllocation, "creating a stream");
    EXPECT_EQ(error.fault(), DeviceFault::kOutOfMemory);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("creating a stream failed: out of memory"),
                      HasSubstr("cudaErrorMemoryAllocation"), HasSubstr("smaller batch")));
    EXPECT_THAT(deviceError(cudaErrorIllegalAddress, "waiting").what(), HasSubstr("must end"));
    EXPECT_THAT(deviceError(cudaErrorInsufficientDriver, "opening").what(), HasSubstr("580"));
}

TEST(CudaError, ThrowsForFailuresOnly) {
    EXPECT_NO_THROW(check(cudaSuccess, "anything"));
    EXPECT_THROW(check(cudaErrorInvalidValue, "anything"), control::DeviceError);
}

}  // namespace
}  // namespace shardscope::kernels::device
