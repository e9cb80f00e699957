#include "profiler/collectors/cupti/device_lanes.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope::collectors::cupti {
namespace {

LaneRole roleOf(StreamUse use) {
    switch (use) {
        case StreamUse::kKernels:
            return LaneRole::kCompute;
        case StreamUse::kCollectives:
            return LaneRole::kCommunication;
        case StreamUse::kCopies:
            return LaneRole::kCopy;
    }
    return LaneRole::kCompute;
}

const char* suffixOf(StreamUse use) {
    switch (use) {
        case StreamUse::kKernels:
            return "";
        case StreamUse::kCollectives:
            return ": NCCL";
        case StreamUse::kCopies:
            return ": copies";
    }
    return "";
}

}  // namespace

LaneId DeviceLanes::declare(LaneId lane, LaneRole role, const std::string& name,
                            const std::string& unit) {
    m_sink.declareLane(lane, role, name, unit);
    return lane;
}

LaneId DeviceLanes::stream(StreamKey key, StreamUse use) {
    const auto found = m_streams.find({key, use});
    if (found != m_streams.end()) return found->second;
    if (m_streams.empty()) m_firstContext = key.context;
    std::string name = fmt::format("stream {}", key.stream);
    if (key.context != m_firstContext) name += fmt::format(", context {}", key.context);
    const LaneId lane =
        declare(lanes::kStreams.at(m_streams.size()), roleOf(use), name + suffixOf(use));
    m_streams.emplace(std::pair{key, use}, lane);
    return lane;
}

LaneId DeviceLanes::host(HostLane kind, std::uint32_t thread) {
    const auto found = m_host.find({kind, thread});
    if (found != m_host.end()) return found->second;
    const LaneId lane =
        kind == HostLane::kOverhead ? lanes::kTracerOverhead.id : lanes::kCalls.at(m_host.size());
    m_host.emplace(std::pair{kind, thread}, lane);
    switch (kind) {
        case HostLane::kCalls:
            return declare(lane, LaneRole::kRuntime, fmt::format("CUDA calls (thread {})", thread));
        case HostLane::kWaits:
            return declare(
                lane, LaneRole::kSync,
                thread == 0 ? "CUDA waits" : fmt::format("CUDA waits (thread {})", thread));
        case HostLane::kOverhead:
            return declare(lane, lanes::kTracerOverhead.role, lanes::kTracerOverhead.name);
    }
    return lane;
}

LaneId DeviceLanes::calls(std::uint32_t thread) {
    return host(HostLane::kCalls, thread);
}
LaneId DeviceLanes::waits(std::uint32_t thread) {
    return host(HostLane::kWaits, thread);
}
LaneId DeviceLanes::overhead() {
    return host(HostLane::kOverhead, 0);
}

LaneId DeviceLanes::allocations() {
    const FixedLane& lane = lanes::kDriverAllocations;
    if (!m_allocationsDeclared) declare(lane.id, lane.role, lane.name, lane.unit);
    m_allocationsDeclared = true;
    return lane.id;
}

}  // namespace shardscope::collectors::cupti
