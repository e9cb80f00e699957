// A rank that Kineto did not write, on its way out: its processes, clock and texts, for every part
// of the walk (recorded_walk.cpp).
#pragma once

#include "storage/interchange/kineto/out/recorded_arguments.h"
#include "storage/interchange/kineto/out/row_table.h"
#include "storage/interchange/kineto/out/trace_events.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::interchange::kineto_out {

/// Streams of the device that stands for a rank without one.
constexpr std::int64_t kComputeStream = 0, kCollectiveStream = 1;

struct RecordedRank {
    RecordedRank(ExportScope& exported, const WalkSetting& setting, TraceEventSink& events);

    ExportScope& scope;
    TraceEventSink& sink;
    RankId rank;
    std::int64_t clockNs;
    std::vector<LaneFacts> lanes;
    bool device = false;  ///< the rank has one that was traced
    std::string hostPid, devicePid;
    std::int64_t deviceId = 0;

    [[nodiscard]] std::int64_t at(Timestamp time) const { return time.ns + clockNs; }
    [[nodiscard]] std::string_view text(StringId id) const { return scope.reader().text(rank, id); }
    void nameProcesses(RowTable& rows) const;
    /// Where a kernel ran: as its own arguments say, where they do.
    void addDevice(RecordedArguments& arguments, std::int64_t stream) const;
    /// An end of the arrow `id` from a call to its kernel, at `of`.
    void flow(char phase, const TraceEvent& of, std::uint64_t id) const;

private:
    void choosePids();
};

}  // namespace shardscope::interchange::kineto_out
