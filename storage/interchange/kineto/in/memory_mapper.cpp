// MemoryMapper of trace_mapper.h.
#include "storage/interchange/decimal.h"
#include "storage/interchange/kineto/in/rank_layout.h"
#include "storage/interchange/kineto/in/trace_mapper.h"

#include <cstdlib>
#include <optional>
#include <string_view>

namespace shardscope::interchange::kineto {
namespace {

constexpr std::size_t kMostDevices = 1024;
constexpr std::int64_t kMostBlock = std::int64_t{1} << 50;

/// Of one event, as PyTorch and as Paddle name it.
std::optional<std::int64_t> integerOf(const Event& event, std::string_view key,
                                      std::string_view ofPaddle) {
    const std::string_view value = bare(valueOf(event.members, key));
    return parseInteger(value.empty() ? bare(valueOf(event.members, ofPaddle)) : value);
}
std::optional<std::int64_t> totalOf(const Event& event) {
    return integerOf(event, "Total Allocated", "current_allocated");
}

/// "cpu", "cuda:0", "xpu:1".
std::string deviceOf(const Event& event) {
    const std::int64_t type = memoryDeviceType(event);
    std::string device = deviceTypeName(type);
    if (type != kHostDeviceType) device.append(":").append(memoryDevice(event));
    return device;
}

}  // namespace

bool MemoryMapper::takes(const Event& event) const {
    // Paddle's allocator also logs what it reserves, which blocks are cut from.
    const bool reserves = bare(event.category).starts_with("Reserved");
    return !reserves && (m_takesHost || memoryDeviceType(event) != kHostDeviceType);
}

void MemoryMapper::addSamples(const Event& event, Timestamp time) {
    const std::string device = deviceOf(event);
    if (const auto total = totalOf(event)) {
        const LaneId lane = m_lanes->counter(device, "allocated", device);
        m_builder->add(m_rank, CounterEvent{time, lane, static_cast<double>(*total)});
    }
    const auto reserved = integerOf(event, "Total Reserved", "current_reserved");
    if (!reserved || memoryDeviceType(event) == kHostDeviceType) return;
    const LaneId lane = m_lanes->counter(device, "reserved", device);
    m_builder->add(m_rank, CounterEvent{time, lane, static_cast<double>(*reserved)});
}

const char* MemoryMapper::add(const Event& event, Timestamp time) {
    const auto bytes = integerOf(event, "Bytes", "increase_bytes");
    if (!bytes || *bytes == 0) return "a memory event without bytes";
    if (*bytes < -kMostBlock || *bytes > kMostBlock)
        return "a memory event of more bytes than there are";
    const std::string device = deviceOf(event);
    m_hostMemory |= memoryDeviceType(event) == kHostDeviceType;
    addSamples(event, time);
    const auto total = totalOf(event);
    if (total && *total >= 0 && *total <= kMostBlock)
        noteTotal(device, *total - *bytes, *total, time);
    MemoryEvent memory;
    memory.time = time;
    memory.address = static_cast<std::uint64_t>(integerOf(event, "Addr", "addr").value_or(0));
    memory.size = {std::abs(*bytes)};
    memory.action = *bytes > 0 ? MemoryAction::kAllocate : MemoryAction::kFree;
    memory.owner = m_builder->intern(m_rank, device);
    m_builder->add(m_rank, memory);
    return nullptr;
}

/// Remembers what a device held before its earliest event, wherever that stands in the file.
void MemoryMapper::noteTotal(const std::string& device, std::int64_t before, std::int64_t after,
                             Timestamp time) {
    const auto at = m_alive.find(device);
    if (at == m_alive.end()) {
        if (m_alive.size() < kMostDevices)
            m_alive.emplace(device, Alive{{time, before}, {time, after}});
        return;
    }
    if (time < at->second.first.time) at->second.first = {time, before};
    if (time >= at->second.last.time) at->second.last = {time, after};
}

void MemoryMapper::finish() {
    for (const auto& [device, alive] : m_alive) {
        // What an earlier file of the process left is there already.
        const std::int64_t left = m_builder->exchangeHeld(m_rank, device, alive.last.bytes);
        const std::int64_t more = alive.first.bytes - left;
        if (more == 0 || std::abs(more) > kMostBlock) continue;
        MemoryEvent before;
        before.time = alive.first.time;
        before.size = {std::abs(more)};
        before.action = more > 0 ? MemoryAction::kAllocate : MemoryAction::kFree;
        before.owner = m_builder->intern(
            m_rank,
            (more > 0 ? "alive before the trace (" : "freed between two traces (") + device + ")");
        m_builder->addFirst(m_rank, before);
    }
}

}  // namespace shardscope::interchange::kineto
