#include "profiler/questions/read_totals.h"

#include "storage/model/overhead_lanes.h"

#include <algorithm>

namespace shardscope::questions {

bool isCounted(const LaneFacts& lane, Counted counted) {
    if (counted == Counted::kOperators)
        return lane.role == LaneRole::kHost && !isOverheadLane(lane.lane, lane.name);
    if (!isStreamLane(lane.lane)) return false;
    if (counted == Counted::kCopies) return lane.role == LaneRole::kCopy;
    return lane.role == LaneRole::kCompute || lane.role == LaneRole::kCommunication;
}

Result<analysis::SpanTotals> readSpanTotals(const Asked& asked, Counted counted, Outside outside,
                                            RoleTotals* roles) {
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
        for (const SpanEvent& span : *spans) {
            if (roles == nullptr) break;
            RoleTotal& role = (*roles)[lane.role];
            ++role.count;
            role.total += span.duration;
        }
        // The outer first: its depth is less. Most lanes come so.
        const auto earlier = [](const SpanEvent& a, const SpanEvent& b) {
            return a.start != b.start ? a.start < b.start : a.depth < b.depth;
        };
        if (!std::is_sorted(spans->begin(), spans->end(), earlier))
            std::stable_sort(spans->begin(), spans->end(), earlier);
        totals.add(*spans, [&](StringId name) { return asked.reader.text(lane.rank, name); });
    }
    return totals;
}

Result<std::vector<analysis::SpanTotal>> readTotals(const Asked& asked, Counted counted,
                                                    Outside outside) {
    const auto totals = readSpanTotals(asked, counted, outside);
    if (!totals) return failure(totals);
    return totals->sorted();
}

}  // namespace shardscope::questions
