#include "profiler/questions/read_totals.h"

#include "storage/model/events.h"
#include "storage/model/lanes.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

namespace shardscope::questions {

bool isCounted(const LaneFacts& lane, Counted counted) {
    if (counted == Counted::kOperators)
        return lane.role == LaneRole::kHost && !isOverheadLane(lane.lane, lane.name);
    if (!isStreamLane(lane.lane)) return false;
    if (counted == Counted::kCopies) return lane.role == LaneRole::kCopy;
    return lane.role == LaneRole::kCompute || lane.role == LaneRole::kCommunication;
}

namespace {

/// The outer first: its depth is less. Most lanes come so.
void putInOrder(std::vector<SpanEvent>& spans) {
    const auto earlier = [](const SpanEvent& a, const SpanEvent& b) {
        return a.start != b.start ? a.start < b.start : a.depth < b.depth;
    };
    if (!std::is_sorted(spans.begin(), spans.end(), earlier))
        std::stable_sort(spans.begin(), spans.end(), earlier);
}

/// Takes what is apart out of the spans of a lane; its self time.
Duration takeApart(std::vector<SpanEvent>& spans) {
    std::vector<SpanEvent> apart;
    std::copy_if(spans.begin(), spans.end(), std::back_inserter(apart), isApart);
    if (apart.empty()) return {};
    std::erase_if(spans, isApart);
    analysis::SpanTotals totals;
    totals.add(apart, [](StringId) { return std::string_view(); });
    Duration self;
    for (const analysis::SpanTotal& each : totals.sorted()) self += each.self;
    return self;
}

}  // namespace

Result<CountedSpans> readSpanTotals(const Asked& asked, Counted counted, Outside outside,
                                    RoleTotals* roles) {
    const bool steps = outside == Outside::kLeftOut && !asked.summary.steps.empty();
    CountedSpans counts;
    for (const LaneFacts& lane : asked.summary.lanes) {
        if (!isCounted(lane, counted) || !asked.selection.takes(lane.rank)) continue;
        auto spans = asked.reader.spans(lane.rank, lane.lane,
                                        asked.selection.timeOf(asked.summary, lane.rank));
        if (!spans) return failure(spans);
        std::erase_if(*spans, [&](const SpanEvent& span) {
            return span.step == kNoStep ? steps : !asked.selection.takesStep(span.step);
        });
        putInOrder(*spans);
        counts.apart += takeApart(*spans);
        for (const SpanEvent& span : *spans) {
            if (roles == nullptr) break;
            RoleTotal& role = (*roles)[lane.role];
            ++role.count;
            role.total += span.duration;
        }
        counts.totals.add(*spans,
                          [&](StringId name) { return asked.reader.text(lane.rank, name); });
    }
    return counts;
}

Result<std::vector<analysis::SpanTotal>> readTotals(const Asked& asked, Counted counted,
                                                    Outside outside) {
    const auto counts = readSpanTotals(asked, counted, outside);
    if (!counts) return failure(counts);
    return counts->totals.sorted();
}

}  // namespace shardscope::questions
