#include "engine/worker/gpu_memory.h"

#include "storage/model/host_clock.h"
#include "storage/model/lanes.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace shardscope::worker {
namespace {

/// Smaller changes are not worth an event.
constexpr std::int64_t kOutsideStep = std::int64_t{1} << 20;

collectors::DeviceMemory& blocksOf(std::int32_t device, collectors::BlockUse (*use)()) {
    collectors::DeviceMemoryOptions options;
    options.device = device;
    return *new collectors::DeviceMemory(options, use);
}

}  // namespace

GpuMemory::GpuMemory(const GpuDevice& device, capture::CaptureSession& session,
                     collectors::BlockUse (*use)())
    : m_session(session), m_blocks(blocksOf(device.index(), use)) {
    collectors::DeviceMemory::install(&m_blocks);
    device.module().traceAllocations(collectors::DeviceMemory::hook());
    m_blocks.attach(&session);
    session.declareLane(lanes::kDeviceReserved);
}

GpuMemory::~GpuMemory() {
    m_blocks.attach(nullptr);
}

void GpuMemory::sample(control::DeviceRuntime& runtime, const DeviceTelemetry* telemetry) {
    if (!m_session.detailed()) return;
    const control::DeviceMemory memory = runtime.memory();
    m_session.push(CounterEvent{m_session.at(hostNow()), lanes::kDeviceReserved.id,
                                static_cast<double>(memory.reservedBytes)});
    const auto own = telemetry != nullptr ? telemetry->ownMemory() : std::nullopt;
    const std::int64_t used = own ? own->count : memory.totalBytes - memory.freeBytes;
    const std::int64_t outside = std::max<std::int64_t>(0, used - memory.reservedBytes);
    if (m_outsideBytes >= 0 && std::abs(outside - m_outsideBytes) < kOutsideStep) return;
    m_outsideBytes = outside;
    m_blocks.setOutsideBytes(outside);
}

Result<std::unique_ptr<DeviceTelemetry>> DeviceTelemetry::start(const std::string& pciBusId,
                                                                capture::DeviceSink& sink) {
    auto library = collectors::NvmlLibrary::open();
    if (!library) return failure(library);
    std::unique_ptr<DeviceTelemetry> telemetry(new DeviceTelemetry(std::move(*library)));
    const collectors::NvmlApi& api = telemetry->m_library.api();
    if (auto driver = collectors::nvmlDriverVersion(api)) telemetry->m_driver = *driver;
    auto device = collectors::nvmlDevice(api, pciBusId);
    if (!device) return failure(device);
    telemetry->m_mig = device->mig;
    telemetry->m_sampler.emplace(api, *device, ::getpid(), sink);
    telemetry->m_thread.emplace(*telemetry->m_sampler);
    return telemetry;
}

}  // namespace shardscope::worker
