// libshardscope_cuda.so for tests: host memory for a device, host threads for streams, a fake NCCL
// of one process. SHARDSCOPE_FAKE_DEVICE says what is wrong with it.
#include "engine/comm/half.h"
#include "engine/worker/cuda_module.h"
#include "tests/engine/gpu_rank/fake_tracer.h"
#include "tests/engine/torch/fake_device.h"
#include "tests/engine/torch/fake_nccl.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

namespace shardscope::test {
namespace {

bool wrong(std::string_view what) {
    const char* said = std::getenv("SHARDSCOPE_FAKE_DEVICE");
    return said != nullptr && what == said;
}

FakeDevice& device() {
    static auto* only = new FakeDevice();  // outlives its users, as a real one
    return *only;
}

std::atomic<collectors::DeviceAllocationHook> g_hook{nullptr};

worker::CudaProbe probe() {
    worker::CudaProbe probe;
    probe.driverVersion = 13000;
    probe.runtimeVersion = 13000;
    probe.cuptiVersion = 130001;
    probe.ncclVersion = 22809;
    if (wrong("no driver")) {
        probe.deviceError = 35;
        probe.driverVersion = 0;
        return probe;
    }
    if (wrong("old driver")) {
        probe.deviceError = 35;
        probe.driverVersion = 12040;
        return probe;
    }
    if (wrong("no device")) {
        probe.deviceError = 100;
        return probe;
    }
    worker::DeviceProperties properties;
    properties.name = wrong("slice") ? "NVIDIA H200 MIG 1g.18gb" : "NVIDIA H200";
    properties.pciBusId = "0000:17:00.0";
    properties.uuid = "GPU-fake";
    properties.memoryBytes = std::int64_t{141} << 30;
    probe.devices.push_back(properties);
    return probe;
}

collectors::DeviceCollectorStart startTracing(capture::DeviceLevel level,
                                              capture::DeviceSink& sink) {
    if (!wrong("busy")) return startFakeTracing(level, sink);
    Diagnostic diagnostic;
    diagnostic.severity = Severity::kWarning;
    diagnostic.code = "cupti-busy";
    diagnostic.message = "CUPTI is held by another tool; kernels are not traced";
    diagnostic.remedy = "End it.";
    return {nullptr, diagnostic};
}

control::DeviceRuntime& openDevice(std::int32_t) {
    if (wrong("unopenable")) {
        throw control::DeviceError(control::DeviceFault::kOther, "device is in exclusive mode");
    }
    return device();
}

/// The run goes wrong at its 40th gather.
int allGather(const void* send, void* receive, std::size_t count, DataType dtype,
              comm::NcclHandle handle, void* stream) {
    static std::atomic<int> calls{0};
    const int call = ++calls;
    if (call == 40 && wrong("out of memory")) {
        collectors::DeviceAllocation told;
        told.action = collectors::DeviceAllocationAction::kOutOfMemory;
        told.sizeBytes = std::int64_t{3} << 30;
        told.freeBytes = std::int64_t{1} << 20;
        g_hook.load()(told);
        throw std::bad_alloc();
    }
    if (call == 40 && wrong("lost")) {
        device().breakDown(control::DeviceFault::kLost, "unspecified launch failure");
    }
    if (call == 40 && wrong("peer lost")) return 6;
    return fakeNccl().allGather(send, receive, count, dtype, handle, stream);
}

int initialise(comm::NcclHandle* out, int ranks, const comm::NcclUniqueId* id, int rank,
               const char* name) {
    if (wrong("hang")) hangAfter(*id, 60);
    if (wrong("remote")) failAsynchronously(*id, 6);
    return fakeNccl().initialise(out, ranks, id, rank, name);
}

float elementOf(const void* in, DataType dtype, std::int64_t i) {
    if (dtype == DataType::kFloat32) return static_cast<const float*>(in)[i];
    const std::uint16_t half = static_cast<const std::uint16_t*>(in)[i];
    return dtype == DataType::kBFloat16 ? comm::BFloat16::widen(half) : comm::Float16::widen(half);
}

void accumulate(const void* in, DataType dtype, float* out, std::int64_t n, bool add,
                void* stream) {
    FakeDevice::queue(stream, [=] {
        for (std::int64_t i = 0; i < n; ++i) {
            const float value = elementOf(in, dtype, i);
            out[i] = add ? out[i] + value : value;
        }
    });
}

void traceAllocations(collectors::DeviceAllocationHook hook) {
    g_hook.store(hook);
    collectors::DeviceAllocation told;
    told.action = collectors::DeviceAllocationAction::kSegmentAllocate;
    told.address = 0x700000000000;
    told.sizeBytes = std::int64_t{20} << 20;
    hook(told);
    told.action = collectors::DeviceAllocationAction::kAllocate;
    told.sizeBytes = std::int64_t{5} << 20;
    hook(told);
}

double measureMatmul(std::int64_t, std::int64_t, std::int64_t, DataType dtype, bool, double) {
    return dtype == DataType::kFloat16 ? 1500e12 : 750e12;
}

const comm::NcclApi& nccl() {
    static const comm::NcclApi api = [] {
        comm::NcclApi changed = fakeNccl();
        changed.allGather = &allGather;
        changed.initialise = &initialise;
        return changed;
    }();
    return api;
}

}  // namespace
}  // namespace shardscope::test

extern "C" __attribute__((visibility("default"))) const shardscope::worker::CudaModule*
shardscopeCudaModule();

const shardscope::worker::CudaModule* shardscopeCudaModule() {
    using namespace shardscope;
    static const kernels::DeviceKernels table{nullptr, nullptr,           nullptr,
                                              nullptr, &test::accumulate, nullptr};
    static const worker::CudaModule module{worker::CudaModule::kVersion,
                                           "cpu",
                                           &test::probe,
                                           &test::startTracing,
                                           &test::openDevice,
                                           &test::nccl(),
                                           &table,
                                           &test::traceAllocations,
                                           &test::measureMatmul};
    return &module;
}
