#include "engine/worker/gpu_memory.h"

#include "storage/model/host_clock.h"
#include "storage/model/lanes.h"

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

}  // namespace shardscope::worker
