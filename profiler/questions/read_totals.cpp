#include "profiler/questions/read_totals.h"

#include "storage/model/overhead_lanes.h"

#include <algorithm>

namespace shardscope::questions {
namespace {

bool isCounted(const LaneFacts& lane, Counted counted) {
    if (counted == Counted::kOperators)
        return lane.role == LaneRole::kHost && !isOverheadLane(lane.lane, lane.name);
    return isStreamLane(lane.lane) &&
           (lane.role == LaneRole::kCompute || lane.role == LaneRole::kCommunication);
}

}  // namespace

Result<std::vector<analysis::SpanTotal>> readTotals(const Asked& asked, Counted counted,
                                                    Outside outside) {
    const bool steps = outside == Outside::kLeftOut && !asked.summary.steps.empty();
    analysis::SpanTotals totals;
    for (const LaneFacts& lane : asked.summary.lanes) {
        if (!isCounted(lane, counted) || !asked.selection.takes(lane.rank)) continue;
        auto spans = asked.reader.spans(lane.rank, lane.lane,
                                        asked.selection.timeOf(asked.summary, lane.rank));
        if (!spans) return failure(spans);
        std::erase_if(*spans, [&](const SpanEvent& span) {
            return span.step == kNoStep ? steps : !asked.selection.takesStep(span.step);
        });
        // The outer first: its depth is less.
        std::stable_sort(spans->begin(), spans->end(), [](const SpanEvent& a, const SpanEvent& b) {
            return a.start != b.start ? a.start < b.start : a.depth < b.depth;
        });
        totals.add(*spans, [&](StringId name) { return asked.reader.text(lane.rank, name); });
    }
    return totals.sorted();
}

}  // namespace shardscope::questions
