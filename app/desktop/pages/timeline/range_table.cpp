#include "app/desktop/pages/timeline/range_table.h"

#include "app/desktop/pages/timeline/range_kind.h"
#include "profiler/analysis/median.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace shardscope::desktop {

void RangeAggregation::addLane(const LaneFacts& lane, const std::vector<SpanEvent>& spans,
                               const std::function<QString(StringId)>& text) {
    const QString laneName = QString::fromStdString(lane.name);
    const RangeKind laneKind = rangeKind(lane).value_or(m_kind);
    std::unordered_map<StringId, Sum*> sums;
    const auto sumOf = [&](StringId name) {
        auto [found, isNew] = sums.try_emplace(name, nullptr);
        if (!isNew) return found->second;
        Sum& sum = m_sums[text(name)];
        sum.role = lane.role;
        sum.onDevice = isStreamLane(lane.lane);
        sum.laneNames.insert(laneName);
        sum.lanes.insert({lane.rank, lane.lane});
        return found->second = &sum;
    };
    std::array<Sum*, 256> open{};  // by depth: the span that is open there
    std::array<TimeRange, 256> inside{};
    for (const SpanEvent& span : spans) {
        const TimeRange part = span.range().intersection(m_range);
        if (part.duration().ns < 0 || (part.empty() && span.duration.ns > 0)) continue;
        if (rangeKind(laneKind, span) != m_kind) continue;
        Sum* sum = sumOf(span.name);
        if (sum->phase == Phase::kNone) sum->phase = span.phase;
        sum->self += part.duration();
        sum->durations.push_back(part.duration());
        if (part.duration() > sum->longestPart) {
            sum->longestPart = part.duration();
            sum->longest = span;
            sum->where = {lane.rank, lane.lane};
        }
        if (span.depth > 0 && open[span.depth - 1U] != nullptr) {
            const TimeRange shared = inside[span.depth - 1U].intersection(part);
            if (!shared.empty()) open[span.depth - 1U]->self -= shared.duration();
        }
        // a name inside itself (recursion) counts once
        bool nestedInItself = false;
        for (std::size_t depth = 0; depth < span.depth; ++depth)
            nestedInItself |= open[depth] == sum && inside[depth].end >= part.end;
        if (!nestedInItself) sum->total += part.duration();
        open[span.depth] = sum;
        inside[span.depth] = part;
    }
    if (!sums.empty()) ++m_lanes;
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
