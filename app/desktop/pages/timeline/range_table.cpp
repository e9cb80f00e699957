#include "app/desktop/pages/timeline/range_table.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace shardscope::desktop {

void RangeAggregation::addLane(const LaneFacts& lane, const std::vector<SpanEvent>& spans,
                               const std::function<QString(StringId)>& text) {
    const QString laneName = QString::fromStdString(lane.name);
    std::unordered_map<StringId, Sum*> sums;
    const auto sumOf = [&](StringId name) {
        auto [found, isNew] = sums.try_emplace(name, nullptr);
        if (isNew) found->second = &m_sums[{laneName, text(name)}];
        return found->second;
    };
    std::array<Sum*, 256> open{};  // by depth: the span that is open there
    std::array<Timestamp, 256> openEnd{};
    for (const SpanEvent& span : spans) {
        const Duration inside = span.range().intersection(m_range).duration();
        if (inside.ns < 0) continue;
        Sum* sum = sumOf(span.name);
        sum->role = lane.role;
        sum->onDevice = isStreamLane(lane.lane);
        if (sum->phase == Phase::kNone) sum->phase = span.phase;
        sum->self += inside;
        sum->durations.push_back(span.duration);
        if (span.depth > 0 && open[span.depth - 1U] != nullptr &&
            openEnd[span.depth - 1U] >= span.end()) {
            open[span.depth - 1U]->self -= inside;
        }
        // a name inside itself (recursion) counts once
        bool nestedInItself = false;
        for (std::size_t depth = 0; depth < span.depth; ++depth) {
            nestedInItself |= open[depth] == sum && openEnd[depth] >= span.end();
        }
        if (!nestedInItself) sum->total += inside;
        open[span.depth] = sum;
        openEnd[span.depth] = span.end();
    }
}

RangeTable RangeAggregation::table(int ranks) const {
    RangeTable table{m_range, ranks, {}};
    for (const auto& [key, sum] : m_sums) {
        std::vector<Duration> durations = sum.durations;
        if (durations.empty()) continue;
        const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
        std::nth_element(durations.begin(), middle, durations.end());
        RangeRow row;
        row.lane = key.first;
        row.name = key.second;
        row.role = sum.role;
        row.phase = sum.phase;
        row.onDevice = sum.onDevice;
        row.count = static_cast<std::int64_t>(durations.size());
        row.total = sum.total;
        row.self = sum.self;
        row.median = *middle;
        row.maximum = *std::max_element(durations.begin(), durations.end());
        table.rows.push_back(std::move(row));
    }
    std::stable_sort(table.rows.begin(), table.rows.end(),
                     [](const RangeRow& a, const RangeRow& b) { return a.self > b.self; });
    return table;
}

}  // namespace shardscope::desktop
