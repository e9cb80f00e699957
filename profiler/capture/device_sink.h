// Where a device tracer (CUPTI) puts what it found, and how much it is to look for.
//
// Pure interfaces: the tracer lives in a module loaded at run time and must not link a second
// copy of the capture library. Called from the tracer's decoder thread.
#pragma once

#include "storage/model/recording.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::capture {

/// What is traced on the device; each level contains the one before.
enum class DeviceLevel : std::uint8_t {
    kNever = 0,     ///< the tracer is never attached
    kIdle = 1,      ///< attached, nothing enabled: to measure what attaching costs
    kKernels = 2,   ///< kernels, copies, sets
    kLaunches = 3,  ///< and launch calls, with operator, layer, phase and step of each kernel
    kFull = 4,      ///< and synchronisation, NCCL's profiler events
};

/// One kernel that ran on behalf of an NCCL launch. Times are on the recording's clock.
struct CollectiveKernel {
    std::uint64_t launch = 0;  ///< id pushed on AnnotationStack::kNcclLaunch
    Timestamp start;
    Timestamp end;
    StringId name;
    bool replay = false;  ///< of a CUDA graph: `launch` is that of its capture, each replay's
};

class DeviceSink {
public:
    virtual ~DeviceSink() = default;
    /// From the host's CLOCK_MONOTONIC.
    [[nodiscard]] virtual Timestamp at(std::int64_t hostNs) const = 0;
    virtual StringId intern(std::string_view text) = 0;
    /// Of an id that was interned by anyone in this rank; empty: not known.
    [[nodiscard]] virtual std::string text(StringId) const { return {}; }
    virtual void declareLane(LaneId lane, LaneRole role, const std::string& name,
                             const std::string& unit) = 0;
    virtual void spans(const std::vector<SpanEvent>& spans) = 0;
    virtual void counters(const std::vector<CounterEvent>& counters) = 0;
    virtual void collectiveKernel(const CollectiveKernel& kernel) = 0;
    virtual void diagnostic(const Diagnostic& diagnostic) = 0;
};

/// Counts that prove completeness; all since the start of the process.
struct DeviceCounts {
    std::uint64_t records = 0;     ///< decoded, of any kind
    std::uint64_t launches = 0;    ///< successful calls that launch a kernel (level kLaunches)
    std::uint64_t captured = 0;    ///< of these, into a graph: they run no kernel themselves
    std::uint64_t kernels = 0;     ///< kernels seen
    std::uint64_t replayed = 0;    ///< of these, of a graph: they have no such call
    std::uint64_t attributed = 0;  ///< of these, with a launch context
    std::uint64_t dropped = 0;     ///< by the vendor, which had no free buffer
    std::uint64_t untimed = 0;     ///< kernels whose start and end are zero
    std::uint64_t reversed = 0;    ///< records that end before they start
    std::uint64_t early = 0;       ///< kernels that seem to start before their launch call
    std::uint64_t unknown = 0;     ///< records of a kind this build does not know
};

}  // namespace shardscope::capture
