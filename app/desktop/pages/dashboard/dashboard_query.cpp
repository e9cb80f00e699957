#include "app/desktop/pages/dashboard/dashboard_query.h"

#include <utility>

namespace shardscope::desktop {
namespace {

Result<std::optional<FlowOfStep>> readFlow(storage::RecordingReader& reader,
                                           const RecordingSummary& summary) {
    if (summary.ranks.empty()) return std::optional<FlowOfStep>();
    const StepFacts* step = typicalStep(summary, summary.ranks.front().rank);
    if (step == nullptr) return std::optional<FlowOfStep>();
    auto events = reader.rankEvents(step->rank, {step->start, step->end});
    if (!events) return failure(events);
    return std::optional(FlowOfStep{*step, std::move(*events)});
}

}  // namespace

Result<DashboardPtr> loadDashboard(storage::RecordingReader& reader, const PartPtr& part,
                                   const Targets& targets) {
    const auto flow = readFlow(reader, *part->summary);
    if (!flow) return failure(flow);
    return std::make_shared<const Dashboard>(dashboardOf(*part, targets, *flow));
}

}  // namespace shardscope::desktop
