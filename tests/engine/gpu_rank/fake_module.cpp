// libshardscope_cuda.so for tests: host memory for devices, host threads for streams.
// SHARDSCOPE_FAKE_DEVICE says what is wrong with it, SHARDSCOPE_FAKE_DEVICES how many there are
// (1): NCCL is then one of processes. Each context that a process makes is a line "pid device" of
// the file SHARDSCOPE_FAKE_CONTEXTS.
#include "engine/worker/cuda_module.h"
#include "tests/engine/gpu_rank/fake_tracer.h"
#include "tests/engine/gpu_rank/shared_nccl.h"
#include "tests/engine/torch/fake_device.h"
#include "tests/engine/torch/fake_nccl.h"
#include "tests/engine/torch/typed_values.h"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <string_view>

namespace shardscope::test {
namespace {

constexpr std::int64_t kDeviceBytes = std::int64_t{141} << 30;
constexpr std::int64_t kContextBytes = std::int64_t{512} << 20;

bool wrong(std::string_view what) {
    const char* said = std::getenv("SHARDSCOPE_FAKE_DEVICE");
    return said != nullptr && what == said;
}

int numberFrom(const char* variable, int otherwise) {
    const char* said = std::getenv(variable);
    return said != nullptr ? std::atoi(said) : otherwise;
}
int devices() {
    return numberFrom("SHARDSCOPE_FAKE_DEVICES", 1);
}

std::int32_t g_index = 0;  // of this process's device

void noteContext() {
    const char* file = std::getenv("SHARDSCOPE_FAKE_CONTEXTS");
    if (file != nullptr) std::ofstream(file, std::ios::app) << ::getpid() << ' ' << g_index << '\n';
}

/// Contexts on the device, of whichever process, take half a gigabyte each.
control::DeviceMemory memory() {
    control::DeviceMemory memory;
    memory.totalBytes = memory.freeBytes = kDeviceBytes;
    const char* file = std::getenv("SHARDSCOPE_FAKE_CONTEXTS");
    if (file == nullptr) return memory;
    std::ifstream contexts(file);
    for (std::int32_t process = 0, index = 0; contexts >> process >> index;)
        if (index == g_index) memory.freeBytes -= kContextBytes;
    return memory;
}

FakeDevice& device() {
    static auto* only = new FakeDevice(&memory);  // outlives its users, as a real one
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
    properties.memoryBytes = kDeviceBytes;
    properties.multiprocessors = 132;
    properties.major = 9;
    for (int i = 0; i < devices(); ++i) {
        properties.pciBusId = "0000:" + std::to_string(17 + i) + ":00.0";
        properties.uuid = "GPU-fake" + std::to_string(i);
        probe.devices.push_back(properties);
    }
    return probe;
}

collectors::DeviceCollectorStart startTracing(capture::DeviceLevel level,
                                              capture::DeviceSink& sink) {
    if (!wrong("busy")) {
        return startFakeTracing(level, sink,
                                {[] { return device().awaited(); }, wrong("lost, tracer held")});
    }
    Diagnostic diagnostic;
    diagnostic.severity = Severity::kWarning;
    diagnostic.code = "cupti-busy";
    diagnostic.message = "CUPTI is held by another tool; kernels are not traced";
    diagnostic.remedy = "End it.";
    return {nullptr, diagnostic};
}

control::DeviceRuntime& openDevice(std::int32_t index) {
    g_index = index;
    noteContext();
    device().use();
    if (index == numberFrom("SHARDSCOPE_FAKE_LOST_RANK", -1))
        killBefore(numberFrom("SHARDSCOPE_FAKE_LOST_CALL", 0));
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
    if (call == 40 && (wrong("lost") || wrong("lost, tracer held"))) {
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

void accumulate(const void* in, DataType dtype, float* out, std::int64_t n, bool add,
                void* stream) {
    FakeDevice::queue(stream, [=] {
        for (std::int64_t i = 0; i < n; ++i) {
            const auto value = static_cast<float>(element(in, dtype, static_cast<std::size_t>(i)));
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
    if (devices() > 1) return sharedNccl();
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
    static const kernels::DeviceKernels table{.accumulate = &test::accumulate};
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
