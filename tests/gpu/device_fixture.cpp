#include "tests/gpu/device_fixture.h"

namespace shardscope::worker {
namespace {

OpenDevice* open() {
    auto device = std::make_unique<OpenDevice>();
    const LoadedModule& loaded = loadedModule();
    device->module = loaded.module;
    if (loaded.module == nullptr) {
        device->missing = loaded.error;
        return device.release();
    }
    device->tracing = loaded.module->startTracing(capture::DeviceLevel::kFull, device->sink);
    if (const CudaProbe probe = loaded.module->probe(); probe.deviceError != 0) {
        device->missing = "no CUDA device: " + probe.deviceErrorText;
    } else {
        device->runtime = &loaded.module->openDevice(0);
    }
    // Outlives the collector's threads, which end with the process.
    return device.release();
}

}  // namespace

OpenDevice& openDevice() {
    static OpenDevice* device = open();
    return *device;
}

void DeviceTest::SetUp() {
    if (!openDevice().missing.empty()) GTEST_SKIP() << openDevice().missing;
}

void DeviceTest::synchronize() const {
    const control::DeviceEvent event = runtime().createEvent();
    runtime().record(event, runtime().currentStream());
    runtime().synchronize(event);
    runtime().destroy(event);
}

at::Tensor onDevice(const at::Tensor& host) {
    return host.to(at::kCUDA);
}

}  // namespace shardscope::worker
