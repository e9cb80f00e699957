#include "engine/kernels/cuda/cuda_error.h"

#include <cuda_runtime_api.h>

#include <string>

namespace shardscope::kernels::device {
namespace {

const char* remedy(cudaError_t code) {
    switch (code) {
        case cudaErrorMemoryAllocation:
            return "use a smaller batch, more ranks or a shorter context";
        case cudaErrorInsufficientDriver:
        case cudaErrorNoDevice:
            return "install an NVIDIA driver of release 580 or newer, and check with nvidia-smi";
        case cudaErrorDevicesUnavailable:
            return "another process holds the device; nvidia-smi names it";
        case cudaErrorNoKernelImageForDevice:
            return "the module has no code for this device; build with a newer CUDA toolkit";
        case cudaErrorECCUncorrectable:
        case cudaErrorHardwareStackError:
        case cudaErrorNvlinkUncorrectable:
            return "the device needs a reset; dmesg names the Xid";
        default:
            break;
    }
    return faultOf(code) == control::DeviceFault::kLost
               ? "the process must end; dmesg names the Xid when the device is at fault"
               : "`shardscope doctor` checks driver and libraries";
}

}  // namespace

control::DeviceFault faultOf(cudaError_t code) {
    switch (code) {
        case cudaErrorMemoryAllocation:
            return control::DeviceFault::kOutOfMemory;
        case cudaErrorECCUncorrectable:
        case cudaErrorNvlinkUncorrectable:
        case cudaErrorHardwareStackError:
        case cudaErrorIllegalInstruction:
        case cudaErrorMisalignedAddress:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
        case cudaErrorIllegalAddress:
        case cudaErrorLaunchTimeout:
        case cudaErrorLaunchFailure:
        case cudaErrorAssert:
        case cudaErrorContained:
        case cudaErrorMpsConnectionFailed:
        case cudaErrorMpsRpcFailure:
        case cudaErrorMpsServerNotReady:
        case cudaErrorExternalDevice:
        case cudaErrorUnknown:
            return control::DeviceFault::kLost;
        default:
            return control::DeviceFault::kOther;
    }
}

control::DeviceError deviceError(cudaError_t code, const char* doing) {
    return {faultOf(code), std::string(doing) + " failed: " + cudaGetErrorString(code) + " (" +
                               cudaGetErrorName(code) + "); " + remedy(code)};
}

void check(cudaError_t code, const char* doing) {
    if (code == cudaSuccess) return;
    // Forgets the error where it is not sticky, so that the next launch is not blamed for it.
    static_cast<void>(cudaGetLastError());
    throw deviceError(code, doing);
}

}  // namespace shardscope::kernels::device
