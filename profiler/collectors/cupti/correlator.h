// Joins kernels, copies and sets with the calls that launched them and with what the launching
// thread was doing, and draws them as spans.
//
// CUPTI delivers the halves in any order and over several buffers: a call and its annotation
// from one thread's buffer, the kernel from another once the device is done. Records wait until
// their other half is there, but at most until the next-but-one flush, then they are drawn
// without it. Everything is deterministic in the set of records, not in their order.
//
// A kernel belongs to the context pushed when it was launched: (correlation id -> external id),
// which holds on backward threads as well. Inside a CUDA graph it belongs to the context its
// node was captured in, with the step of the replay if the replay has one; NCCL's launch of the
// capture is then reported with each replay. Spans of role compute
// carry CUPTI's correlation id, or one above 2^32 where there is none: never 0, which means an
// engine phase there. NCCL's kernels carry 0: on their lanes the number would be a collective's
// sequence. Decoder thread.
#pragma once

#include "profiler/capture/device_sink.h"
#include "profiler/collectors/cupti/graph_nodes.h"
#include "profiler/collectors/cupti/device_lanes.h"
#include "profiler/collectors/cupti/graph_nodes.h"
#include "profiler/collectors/cupti/kernel_names.h"
#include "profiler/collectors/cupti/record_clock.h"
#include "profiler/collectors/cupti/record_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace shardscope::collectors::cupti {

struct CorrelatorLimits {
    std::size_t pending = std::size_t{1} << 17;   ///< records that wait; the oldest go first
    std::size_t launches = std::size_t{1} << 18;  ///< calls remembered for late kernels
    std::size_t events = std::size_t{1} << 16;
    std::int64_t earlyNs = 5'000;  ///< how far CUPTI's clock fit may put a kernel too early
};

class Correlator {
public:
    /// Keeps references to all of them.
    Correlator(capture::DeviceSink& sink, const RecordClock& clock, const KernelNames& names,
               const GraphNodes& nodes, const CorrelatorLimits& limits = {});

    /// Checks, counts and keeps; records without a time or that end before they start are
    /// dropped.
    void add(const std::vector<Record>& records);
    /// After each flush. `launchesTraced`: whether it is worth waiting for a launch.
    void settle(bool launchesTraced);
    /// Draws whatever is left.
    void finish();

    /// All but records, dropped and unknown.
    [[nodiscard]] const capture::DeviceCounts& counts() const { return m_counts; }
    [[nodiscard]] std::size_t pending() const { return m_pending.size(); }

private:
    struct Launch {
        std::int64_t startNs = 0;
        std::uint32_t thread = 0;
        bool called = false;     ///< its call was seen
        bool byRuntime = false;  ///< through the runtime, perhaps also the driver
        std::optional<std::uint64_t> context;
        std::uint64_t ncclLaunch = 0;
    };
    struct Pending {
        Record record;
        int age = 0;  ///< flushes waited
    };
    struct Attribution {
        capture::LaunchContext context;
        bool known = false;
        std::uint64_t ncclLaunch = 0;
    };

    bool checked(const Interval& time);
    void noteCall(const CallRecord& call);
    void noteExternal(const ExternalRecord& external);

    [[nodiscard]] bool ready(const Pending& pending) const;
    [[nodiscard]] bool workReady(const DeviceWork& work, int age) const;
    [[nodiscard]] bool kernelReady(const KernelRecord& kernel, int age) const;
    [[nodiscard]] bool callReady(const CallRecord& call, int age) const;
    [[nodiscard]] bool syncReady(const SyncRecord& sync) const;
    [[nodiscard]] std::int64_t lastSettledAllocation() const;
    void drawReady(std::size_t regardless);

    void draw(const KernelRecord& kernel);
    void draw(const CopyRecord& copy);
    void draw(const SetRecord& set);
    void draw(const GraphRecord& graph);
    void draw(const CallRecord& call);
    void draw(const SyncRecord& sync);
    void draw(const AllocationRecord& allocation);
    void draw(const OverheadRecord& overhead);
    void draw(const ExternalRecord&) {}
    void draw(const EventRecord&) {}

    [[nodiscard]] const Launch* launchOf(std::uint32_t correlation) const;
    [[nodiscard]] Attribution attributionOf(const Launch* launch, std::uint64_t graphNode) const;
    [[nodiscard]] SpanEvent span(const Interval& time, const Attribution& attribution) const;
    [[nodiscard]] std::uint64_t correlationOf(const DeviceWork& work);
    const std::string& operatorText(StringId name);
    [[nodiscard]] Timestamp at(std::int64_t realtime) const;

    capture::DeviceSink& m_sink;
    const RecordClock& m_clock;
    const KernelNames& m_names;
    const GraphNodes& m_nodes;
    const CorrelatorLimits m_limits;
    DeviceLanes m_lanes;
    capture::DeviceCounts m_counts;

    std::vector<Pending> m_pending;
    BoundedMap<std::uint32_t, Launch> m_launches;
    BoundedMap<std::uint64_t, EventRecord> m_events;
    std::unordered_map<std::uint64_t, std::uint64_t> m_allocations;  ///< address -> bytes
    std::uint64_t m_allocatedBytes = 0;
    std::int64_t m_allocationsUntil = 0;
    std::uint64_t m_lastSynthetic = std::uint64_t{1} << 32;
    int m_patience = 0;  ///< flushes a record waits at most
    std::unordered_map<StringId, std::string> m_operators;

    std::vector<SpanEvent> m_spans;
    std::vector<CounterEvent> m_counters;
};

}  // namespace shardscope::collectors::cupti
