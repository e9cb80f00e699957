// The lanes of a rank by number: what each range of numbers is for, and the lanes that are always
// the same. The only place that knows a lane's number, or one by its name; written into recordings
// (storage/schema/FORMAT.md), so never moved.
#pragma once

#include "storage/model/events.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shardscope {

/// [first, end)
struct LaneRange {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
    [[nodiscard]] constexpr bool contains(LaneId lane) const {
        return lane.value >= first && lane.value < end;
    }
    [[nodiscard]] constexpr std::size_t size() const { return end - first; }
    /// The n-th lane; beyond the last one, everything shares it.
    [[nodiscard]] constexpr LaneId at(std::size_t n) const {
        return {first + static_cast<std::uint32_t>(n < size() ? n : size() - 1)};
    }
};

/// A lane that is the same in every rank that has it.
struct FixedLane {
    LaneId id;
    LaneRole role = LaneRole::kHost;
    const char* name = "";
    const char* unit = "";   ///< counters only
    std::int32_t order = 0;  ///< place within the rank, top first
};

/// A lane of a recording.
struct LaneAddress {
    RankId rank;
    LaneId lane;
    friend constexpr auto operator<=>(const LaneAddress&, const LaneAddress&) = default;
};

namespace lanes {

// Of a host. A rank's lanes of communication lie together, so places are not numbers.
inline constexpr LaneRange kHost{0, 0x1000};
inline constexpr FixedLane kSteps{{0}, LaneRole::kRange, "step", "", 0};
inline constexpr FixedLane kPhases{{1}, LaneRole::kCompute, "compute", "", 1};
inline constexpr FixedLane kOperators{{2}, LaneRole::kHost, "operators", "", 2};
inline constexpr FixedLane kCommunication{{3}, LaneRole::kCommunication, "communication", "", 3};
/// Of the groups of ranks that collectives are reported of (hsdp).
inline constexpr LaneRange kGroups{6, 8};
inline constexpr std::int32_t kFirstGroupOrder = 4;
inline constexpr FixedLane kResidentSet{{4}, LaneRole::kCounter, "resident set", "bytes", 6};
inline constexpr FixedLane kCpuTime{{5}, LaneRole::kCounter, "CPU time", "ns", 7};
// Of all processes of a recorded program together, on its lowest rank.
inline constexpr FixedLane kProgramResidentSet{
    {8}, LaneRole::kCounter, "program: resident set", "bytes", 8};
inline constexpr FixedLane kProgramCpuTime{{9}, LaneRole::kCounter, "program: CPU time", "ns", 9};
/// Operators of threads beside the first.
inline constexpr LaneRange kMoreOperators{17, 0x1000};

// Of a device: streams in order of appearance, each with what it is used for (kernels, copies,
// kernels of collectives); host threads that launch and wait; counters.
inline constexpr LaneRange kStreams{0x1000, 0x2000};
inline constexpr LaneRange kCalls{0x2000, 0x2fff};
inline constexpr FixedLane kTracerOverhead{
    {0x2fff}, LaneRole::kRuntime, "tracer overhead", "", 0x2fff};
inline constexpr LaneRange kDeviceCounters{0x3000, 0x1'0000};
/// What the tracer sees of it: not memory that is mapped, as the caching allocator's segments are.
inline constexpr FixedLane kDriverAllocations{
    {0x3000}, LaneRole::kCounter, "driver allocations (cudaMalloc)", "bytes", 0x3000};
inline constexpr LaneRange kNvmlCounters{0x3100, 0x3200};
inline constexpr FixedLane kDeviceReserved{
    {0x3800}, LaneRole::kCounter, "device memory reserved", "bytes", 0x3800};

/// Counters that RecordingWriter derives from a rank's memory events.
inline constexpr LaneRange kDerived{0x1'0000, 0x2'0000};

/// Where the lanes of an imported trace go; lane 0 is left to the engine.
[[nodiscard]] constexpr LaneRange rangeFor(LaneRole role) {
    switch (role) {
        case LaneRole::kCompute:
        case LaneRole::kCommunication:
        case LaneRole::kCopy:
            return kStreams;
        case LaneRole::kRuntime:
            return {kCalls.first, kTracerOverhead.id.value + 1};
        case LaneRole::kCounter:
            return {kDeviceCounters.first, kDeviceCounters.first + 0x1000};
        default:
            return {kHost.first + 1, kHost.end};
    }
}

}  // namespace lanes

/// Of a device's streams: kernels, copies, kernels of collectives.
[[nodiscard]] constexpr bool isStreamLane(LaneId lane) {
    return lanes::kStreams.contains(lane);
}
/// What a device's tracer recorded: of its streams and of the calls that fed them.
[[nodiscard]] constexpr bool isTracedLane(LaneId lane) {
    return LaneRange{lanes::kStreams.first, lanes::kDeviceCounters.first}.contains(lane);
}
/// What the thread of the steps did: steps, phases, its operators.
[[nodiscard]] constexpr bool isOfStepThread(LaneId lane) {
    return lane == lanes::kSteps.id || lane == lanes::kPhases.id || lane == lanes::kOperators.id;
}
/// Recordings from before it had a number of its own are known by its name.
[[nodiscard]] constexpr bool isTracerOverhead(LaneId lane, std::string_view name) {
    return lane == lanes::kTracerOverhead.id || name == lanes::kTracerOverhead.name;
}

/// Bytes alive in a category, and their sum: derived from memory events.
[[nodiscard]] constexpr LaneId memoryLane(MemoryCategory category) {
    return {lanes::kDerived.first + static_cast<std::uint32_t>(category)};
}
inline constexpr LaneId kMemoryTotalLane{lanes::kDerived.first + 255u};
[[nodiscard]] constexpr bool isMemoryLane(LaneId lane) {
    return lane.value >= lanes::kDerived.first;
}

// Lanes of what a tracer took of the host's time.

/// Of a lane's name, the stream or thread: what follows after ": " is what the lane shows of it.
[[nodiscard]] constexpr std::string_view withoutUse(std::string_view laneName) {
    return laneName.substr(0, laneName.find(": "));
}

/// Ours, and those of imported traces, which are known by the names that their importers gave them.
[[nodiscard]] constexpr bool isOverheadLane(LaneId lane, std::string_view name) {
    if (isTracerOverhead(lane, name)) return true;
    for (const std::string_view end : {": overhead", ": CUDA overhead", ": profiler overhead"})
        if (name.ends_with(end)) return true;
    return name.find(": overhead (") != std::string_view::npos;  // of one process of several
}

}  // namespace shardscope
