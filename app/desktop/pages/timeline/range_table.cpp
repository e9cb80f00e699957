#include "app/desktop/pages/timeline/range_table.h"

#include "app/desktop/pages/timeline/range_kind.h"
#include "profiler/analysis/findings.h"

#include <algorithm>

namespace shardscope::desktop {

void RangeAggregation::beginLane(const LaneFacts& lane) {
    m_pass = {};
    m_pass.lane = lane;
    m_pass.kind = rangeKind(lane).value_or(m_kind);
}

RangeAggregation::Sum& RangeAggregation::sumOf(StringId name,
                                               const std::function<QString(StringId)>& text) {
    if (m_pass.sums.empty()) ++m_lanes;
    auto [found, isNew] = m_pass.sums.try_emplace(name, nullptr);
    if (!isNew) return *found->second;
    const LaneFacts& lane = m_pass.lane;
    Sum& sum = m_sums[text(name)];
    sum.role = lane.role;
    sum.onDevice = isStreamLane(lane.lane);
    sum.laneNames.insert(QString::fromStdString(lane.name));
    sum.lanes.insert({lane.rank, lane.lane});
    found->second = &sum;
    return sum;
}

void RangeAggregation::add(const std::vector<SpanEvent>& spans,
                           const std::function<QString(StringId)>& text) {
    for (const SpanEvent& span : spans) {
        const TimeRange part = span.range().intersection(m_range);
        if (part.duration().ns < 0 || (part.empty() && span.duration.ns > 0)) continue;
        if (rangeKind(m_pass.kind, span) != m_kind) continue;
        Sum* sum = &sumOf(span.name, text);
        if (sum->phase == Phase::kNone) sum->phase = span.phase;
        sum->self += part.duration();
        sum->durations.push_back(part.duration());
        if (part.duration() > sum->longestPart) {
            sum->longestPart = part.duration();
            sum->longest = span;
            sum->where = {m_pass.lane.rank, m_pass.lane.lane};
        }
        if (span.depth > 0 && m_pass.open[span.depth - 1U] != nullptr) {
            const TimeRange shared = m_pass.inside[span.depth - 1U].intersection(part);
            if (!shared.empty()) m_pass.open[span.depth - 1U]->self -= shared.duration();
        }
        // a name inside itself (recursion) counts once
        bool nestedInItself = false;
        for (std::size_t depth = 0; depth < span.depth; ++depth)
            nestedInItself |= m_pass.open[depth] == sum && m_pass.inside[depth].end >= part.end;
        if (!nestedInItself) sum->total += part.duration();
        m_pass.open[span.depth] = sum;
        m_pass.inside[span.depth] = part;
    }
}

RangeTable RangeAggregation::table(int ranks) const {
    RangeTable table{m_range, m_kind, ranks, m_lanes, {}};
    for (const auto& [name, sum] : m_sums) {
        if (sum.durations.empty()) continue;
        RangeRow row;
        row.name = name;
        row.lanes = static_cast<int>(sum.lanes.size());
        if (sum.laneNames.size() == 1) row.lane = *sum.laneNames.begin();
        row.role = sum.role;
        row.phase = sum.phase;
        row.onDevice = sum.onDevice;
        row.count = static_cast<std::int64_t>(sum.durations.size());
        row.total = sum.total;
        row.self = sum.self;
        row.median = analysis::medianOf(sum.durations);
        row.maximum = sum.longestPart;
        row.where = sum.where;
        row.span = sum.longest;
        table.rows.push_back(std::move(row));
    }
    std::stable_sort(table.rows.begin(), table.rows.end(),
                     [](const RangeRow& a, const RangeRow& b) { return a.self > b.self; });
    return table;
}

}  // namespace shardscope::desktop
