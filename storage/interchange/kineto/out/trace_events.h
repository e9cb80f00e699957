// Events of a Chrome trace on their way out of a recording: who walks the recording does not know
// whether they are written, or only counted by what HTA would see of them.
#pragma once

#include "storage/interchange/formats/export_scope.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope::interchange::kineto_out {

/// JSON values: `12`, `"stream 7"`.
struct TraceRow {
    std::string pid, tid;
};

/// Views are valid during add() only.
struct TraceEvent {
    char phase = 'X';
    std::string_view category;
    std::string_view name;
    const TraceRow* row = nullptr;
    std::int64_t startNs = 0;  ///< on the trace's clock, ns
    std::int64_t durationNs = 0;
    std::string_view arguments;     ///< members of a JSON object: no brackets, no white space
    std::uint64_t correlation = 0;  ///< an argument as well; 0: none
    std::uint64_t flow = 0;         ///< id of phases s, t and f
    std::string_view flowText;      ///< instead, where it is text; of phase C too
    bool bindsNext = false;         ///< phase f: to the next slice, not the one under way
    char scope = 't';               ///< of phase i
};

/// Of phase i.
[[nodiscard]] constexpr char letterOf(InstantScope scope) {
    return scope == InstantScope::kGlobal ? 'g' : scope == InstantScope::kProcess ? 'p' : 't';
}
/// The phase of a flow event.
[[nodiscard]] constexpr char letterOf(FlowPoint point) {
    return point == FlowPoint::kStart ? 's' : point == FlowPoint::kEnd ? 'f' : 't';
}

class TraceEventSink {
public:
    virtual ~TraceEventSink() = default;
    virtual void add(const TraceEvent& event) = 0;
    /// An event as JSON that nothing else is known of.
    virtual void addText(std::string_view object) = 0;
    /// false: counters and memory events are left out.
    [[nodiscard]] virtual bool wantsSamples() const { return true; }
};

/// All events of one rank, metadata events first. `clockNs` is added to times of the recording.
/// Memory: a window of events, and 8 bytes an event that has a correlation.
struct WalkSetting {
    RankId rank;
    std::int64_t clockNs = 0;
};
struct ImportedTrace;
Result<void> walkImported(ExportScope& scope, const WalkSetting& setting,
                          const ImportedTrace& trace, TraceEventSink& sink);
Result<void> walkRecorded(ExportScope& scope, const WalkSetting& setting, TraceEventSink& sink);

// How Kineto names what a recording of our own has on its devices.

/// "all_gather", as in Kineto's `Collective name`.
[[nodiscard]] const char* collectiveName(CollectiveOp operation);
/// A kernel's name that HTA, TraceLens and PyTorch's plugin take for communication, for ranks whose
/// collectives ran on the CPU: "ncclKernel_AllGather_CPU".
[[nodiscard]] const std::string& collectiveKernelName(CollectiveOp operation);
/// c10::ScalarType: "BFloat16".
[[nodiscard]] const char* scalarTypeName(DataType dtype);

/// "Memcpy HtoD (Pinned -> Device)" of "copy host to device" and its arguments' memories; names
/// that are Kineto's already stay.
[[nodiscard]] std::string copyName(std::string_view name, std::string_view from,
                                   std::string_view to);

/// "cudaLaunchKernel" of "cudaLaunchKernel_v7000", as Kineto writes it.
[[nodiscard]] std::string_view callName(std::string_view name);

/// 19 of "stream 19: NCCL".
[[nodiscard]] std::optional<std::int64_t> streamInName(std::string_view laneName);

}  // namespace shardscope::interchange::kineto_out
