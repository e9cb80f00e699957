// The graph of a step out of what its ranks recorded.
//
// - A rank's step thread does one thing after the other: its phases, and what lies between. Of a
//   device rank without phases: its operators and calls, of whichever thread began last.
// - A collective is taken up on a rank once it was asked for and the one before it in its group is
//   done; of another group where it was evidently queued behind it. From the last arrival on data
//   moves. Where clocks of hosts do not tell who was last, or not all ranks are known, each rank
//   has it for itself, waiting and transfer not separated.
// - A wait ends with the collective that ended within it: of its kind and layer rather than
//   another, else the latest.
// - Work on a layer needs the last gather of it; clip and optimizer the last reduction.
// - A kernel begins after its launch and the kernel before it on its stream. One that begins within
//   kHandover of the end of a kernel of another stream, later than both, waited for it.
// - A call that waits for the device ends with the kernel that ended last within it.
#pragma once

#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/analysis/graph/step_graph.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace shardscope::analysis {

inline constexpr Duration kHandover{20'000};

enum class SpanUse : std::uint8_t { kKernel, kCommunication, kCopy, kLaunch, kSync, kOperator };

/// Of a device's streams, of the calls that fed them, of operators.
struct PathSpan {
    TimeRange range;
    SpanUse use = SpanUse::kKernel;
    LaneId lane;
    std::uint32_t name = 0;         ///< of PathNames
    std::uint64_t correlation = 0;  ///< of a kernel and its launch; 0: none
    LayerIndex layer = kNoLayer;
};

/// What one rank did in a step, and may reach over its edges.
struct RankStep {
    RankId rank;
    TimeRange range;
    std::vector<SpanEvent> phases;
    std::vector<const CollectiveEvent*> collectives;
    std::vector<PathSpan> spans;  ///< by start on each lane
};

/// Makes the graphs of a recording's steps.
class StepGraphs {
public:
    /// `ranks` say who is in a group, and how long a link's latency is; all outlive this.
    StepGraphs(const std::vector<RankEvents>& ranks, const HostClocks& clocks, PathNames& names);

    [[nodiscard]] StepGraph of(TimeRange range, const std::vector<RankStep>& ranks);

    /// Collectives of several ranks that could not be joined, because clocks do not tell who came
    /// last; of all graphs made.
    [[nodiscard]] std::int64_t refused() const { return m_refused; }

    [[nodiscard]] const std::vector<RankId>& members(std::uint32_t group);
    [[nodiscard]] Duration latency(const CollectiveEvent& event) const;
    /// Whether it is known of all ranks which arrived last. Counts those that clocks do not tell.
    [[nodiscard]] bool tellsLast(const CollectiveEvent& event);
    [[nodiscard]] PathNames& names() { return m_names; }

private:
    const std::vector<RankEvents>& m_ranks;
    const HostClocks& m_clocks;
    PathNames& m_names;
    std::map<std::uint32_t, std::vector<RankId>> m_members;
    std::map<std::pair<CollectiveOp, std::uint32_t>, Duration> m_latencies;
    std::int64_t m_refused = 0;
};

}  // namespace shardscope::analysis
