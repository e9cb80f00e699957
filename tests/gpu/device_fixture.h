// The one device that all tests of a process share, opened through the module with tracing on.
#pragma once

#include "tests/gpu/loaded_module.h"
#include "tests/gpu/recording_sink.h"

#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>

#include <memory>
#include <string>

namespace shardscope::worker {

struct OpenDevice {
    const CudaModule* module = nullptr;
    control::DeviceRuntime* runtime = nullptr;
    capture::RecordingSink sink;
    collectors::DeviceCollectorStart tracing;
    std::string missing;  ///< why there is no device
};

/// Tracing at level kFull, started before the first CUDA call, as CUPTI wants it.
[[nodiscard]] OpenDevice& openDevice();

/// Skips, aloud, without a device.
class DeviceTest : public ::testing::Test {
protected:
    /// Before LibTorch is first asked for a device, which it is by at::manual_seed() already: it
    /// remembers that there was none.
    DeviceTest() { static_cast<void>(openDevice()); }
    void SetUp() override;

    [[nodiscard]] const CudaModule& module() const { return *openDevice().module; }
    [[nodiscard]] const kernels::DeviceKernels& kernels() const { return *module().kernels; }
    [[nodiscard]] control::DeviceRuntime& runtime() const { return *openDevice().runtime; }
    [[nodiscard]] void* stream() const { return runtime().currentStream().handle; }
    /// Until everything queued on the current stream is done.
    void synchronize() const;
};

/// A CUDA tensor with the values of `host`.
[[nodiscard]] at::Tensor onDevice(const at::Tensor& host);

}  // namespace shardscope::worker
