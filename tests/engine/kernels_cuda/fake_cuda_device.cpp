// What LibTorch asks of a device besides operators: one device with one stream.
#include "tests/engine/kernels_cuda/fake_cuda_memory.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace shardscope::test {
namespace {

struct Guard final : c10::impl::DeviceGuardImplInterface {
    Guard() = default;
    explicit Guard(c10::DeviceType) {}
    static constexpr c10::DeviceType static_type = at::kCUDA;
    c10::DeviceType type() const override { return at::kCUDA; }
    c10::Device exchangeDevice(c10::Device) const override { return fakeCudaDevice(); }
    c10::Device getDevice() const override { return fakeCudaDevice(); }
    void setDevice(c10::Device) const override {}
    void uncheckedSetDevice(c10::Device) const noexcept override {}
    c10::Stream getStream(c10::Device device) const override {
        return c10::Stream(c10::Stream::DEFAULT, device);
    }
    c10::Stream getDefaultStream(c10::Device device) const override { return getStream(device); }
    c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
        return getStream(device);
    }
    c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
    void* getStreamNativeHandle(const c10::Stream) const override { return nullptr; }
    c10::DeviceIndex deviceCount() const noexcept override { return 1; }
    void record(void**, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {}
    void block(void*, const c10::Stream&) const override {}
    bool queryEvent(void*) const override { return true; }
    void destroyEvent(void*, c10::DeviceIndex) const noexcept override {}
    void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}
};
C10_REGISTER_GUARD_IMPL(CUDA, Guard)

/// Found by this name. Autograd asks whether there is an accelerator before it asks for its
/// streams.
struct CUDAHooks final : at::CUDAHooksInterface {
    explicit CUDAHooks(at::CUDAHooksArgs) {}
    void init() const override {}
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return true; }
    bool hasCUDA() const override { return true; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
    c10::Device getDeviceFromPtr(void*) const override { return fakeCudaDevice(); }
    at::Allocator* getPinnedMemoryAllocator() const override { return c10::GetCPUAllocator(); }
};
using at::CUDAHooksRegistry;
using at::RegistererCUDAHooksRegistry;
REGISTER_CUDA_HOOKS(CUDAHooks)

}  // namespace
}  // namespace shardscope::test
