#include "profiler/analysis/graph/step_graph.h"

#include <algorithm>
#include <utility>

namespace shardscope::analysis {

std::uint32_t PathNames::of(std::string_view text) {
    const auto found = m_numbers.find(text);
    if (found != m_numbers.end()) return found->second;
    const auto number = static_cast<std::uint32_t>(m_texts.size());
    m_texts.emplace_back(text);
    m_numbers.emplace(text, number);
    return number;
}

StepGraph::Place StepGraph::add(Activity activity) {
    TimeRange& range = activity.range;
    range.begin = std::max(range.begin, m_range.begin);
    range.end = std::max(range.end, range.begin);
    m_activities.push_back(activity);
    return static_cast<Place>(m_activities.size() - 1);
}

bool StepGraph::depend(Place later, Place earlier) {
    if (later == earlier || m_activities[earlier].range.end > m_activities[later].range.begin)
        return false;
    m_edges.push_back({later, earlier});
    return true;
}

std::span<const StepGraph::Place> StepGraph::needs(Place place) const {
    return {m_needs.data() + m_firstNeed[place], m_firstNeed[place + 1] - m_firstNeed[place]};
}

Timestamp StepGraph::readyAt(Place place) const {
    const auto earlier = needs(place);
    if (earlier.empty()) return m_activities[place].range.begin;
    Timestamp ready = m_range.begin;
    for (const Place each : earlier) ready = std::max(ready, m_activities[each].range.end);
    return ready;
}

/// Counting sort by the later one; the order in which edges were added is kept.
void StepGraph::group(const std::vector<Edge>& edges) {
    m_firstNeed.assign(m_activities.size() + 1, 0);
    for (const Edge& edge : edges) ++m_firstNeed[edge.later + 1];
    for (std::size_t i = 1; i < m_firstNeed.size(); ++i) m_firstNeed[i] += m_firstNeed[i - 1];
    std::vector<Place> next(m_firstNeed.begin(), m_firstNeed.end() - 1);
    m_needs.resize(edges.size());
    for (const Edge& edge : edges) m_needs[next[edge.later]++] = edge.earlier;
}

/// Depth first, without recursion: a step may be a chain of millions.
void StepGraph::visit(Place from, std::vector<std::uint8_t>& seen, std::vector<Edge>& kept) {
    constexpr std::uint8_t kOpen = 1, kDone = 2;
    if (seen[from] != 0) return;
    std::vector<std::pair<Place, std::size_t>> open{{from, 0}};
    seen[from] = kOpen;
    while (!open.empty()) {
        auto& [place, next] = open.back();
        const auto earlier = needs(place);
        if (next == earlier.size()) {
            seen[place] = kDone;
            m_order.push_back(place);
            open.pop_back();
            continue;
        }
        const Place need = earlier[next++];
        if (seen[need] != kOpen) kept.push_back({place, need});
        if (seen[need] != 0) continue;
        seen[need] = kOpen;
        open.emplace_back(need, 0);
    }
}

void StepGraph::seal() {
    group(m_edges);
    std::vector<std::uint8_t> seen(m_activities.size(), 0);
    std::vector<Edge> kept;
    kept.reserve(m_edges.size());
    m_order.clear();
    m_order.reserve(m_activities.size());
    for (Place place = 0; place < m_activities.size(); ++place) visit(place, seen, kept);
    if (kept.size() != m_edges.size()) group(kept);
    m_edges = {};
}

}  // namespace shardscope::analysis
