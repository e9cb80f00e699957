// What a rank's step thread did, one thing at a time. Part of step_activities.
#pragma once

#include "profiler/analysis/graph/step_graph.h"
#include "storage/model/events.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace shardscope::analysis {

/// What of the step thread's time may be waiting for.
enum class Awaited : std::uint8_t { kNothing, kCollective, kDevice };

struct HostItem {
    TimeRange range;
    PathKind kind = PathKind::kHost;
    std::uint32_t name = 0;
    LayerIndex layer = kNoLayer;
    Phase phase = Phase::kNone;
    Awaited awaited = Awaited::kNothing;
};

/// Without gaps over the time asked for. Where items overlap, the one that began last has it.
[[nodiscard]] std::vector<HostItem> tiled(std::vector<HostItem> items, TimeRange range);

/// The thread's activities in their order.
class HostLine {
public:
    HostLine(StepGraph& graph, RankId rank, TimeRange range);

    /// Behind what is there. The first of the pieces, cut where others begin.
    StepGraph::Place append(const HostItem& item, const std::vector<Timestamp>& cuts);
    /// A wait that `until` ended; the rest of it is what it took to go on.
    void appendWait(const HostItem& item, StepGraph::Place until,
                    const std::vector<Timestamp>& cuts);
    /// The last to have ended at `time`; none before the step.
    [[nodiscard]] std::optional<StepGraph::Place> at(Timestamp time) const;
    [[nodiscard]] StepGraph::Place last() const { return m_places.back(); }

private:
    StepGraph::Place link(const HostItem& item, TimeRange range);

    StepGraph& m_graph;
    RankId m_rank;
    std::vector<StepGraph::Place> m_places;
    std::vector<Timestamp> m_ends;
};

}  // namespace shardscope::analysis
