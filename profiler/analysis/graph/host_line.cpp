#include "profiler/analysis/graph/host_line.h"

#include <algorithm>

namespace shardscope::analysis {
namespace {

/// Lays items over each other by start.
class Tiling {
public:
    Tiling(const std::vector<HostItem>& items, TimeRange range)
        : m_items(items), m_range(range), m_at(range.begin) {}

    std::vector<HostItem> run() {
        for (std::size_t i = 0; i < m_items.size(); ++i) {
            const TimeRange own = m_items[i].range.intersection(m_range);
            if (own.empty()) continue;
            fillTo(own.begin);
            m_open.push_back(i);
        }
        fillTo(m_range.end);
        return std::move(m_tiles);
    }

private:
    void fillTo(Timestamp until) {
        while (m_at < until) {
            while (!m_open.empty() && m_items[m_open.back()].range.end <= m_at) m_open.pop_back();
            HostItem tile = m_open.empty() ? HostItem{} : m_items[m_open.back()];
            const Timestamp end = m_open.empty() ? until : std::min(until, tile.range.end);
            tile.range = {m_at, end};
            m_tiles.push_back(tile);
            m_at = end;
        }
    }

    const std::vector<HostItem>& m_items;
    const TimeRange m_range;
    Timestamp m_at;
    std::vector<std::size_t> m_open;
    std::vector<HostItem> m_tiles;
};

}  // namespace

std::vector<HostItem> tiled(std::vector<HostItem> items, TimeRange range) {
    // Of two that begin together the longer is the outer one.
    std::stable_sort(items.begin(), items.end(), [](const HostItem& a, const HostItem& b) {
        return a.range.begin != b.range.begin ? a.range.begin < b.range.begin
                                              : a.range.end > b.range.end;
    });
    return Tiling(items, range).run();
}

HostLine::HostLine(StepGraph& graph, RankId rank, TimeRange range) : m_graph(graph), m_rank(rank) {
    Activity begin;
    begin.rank = rank;
    begin.before = PathKind::kLateStart;
    begin.range = {range.begin, range.begin};
    m_places.push_back(graph.add(begin));
    m_ends.push_back(range.begin);
}

StepGraph::Place HostLine::link(const HostItem& item, TimeRange range) {
    Activity activity;
    activity.rank = m_rank;
    activity.kind = item.kind;
    activity.before = PathKind::kLatency;
    activity.name = item.name;
    activity.layer = item.layer;
    activity.range = range;
    activity.waitsForGather = item.phase == Phase::kWaitGather;
    const StepGraph::Place place = m_graph.add(activity);
    m_graph.depend(place, m_places.back());
    m_places.push_back(place);
    m_ends.push_back(range.end);
    return place;
}

StepGraph::Place HostLine::append(const HostItem& item, const std::vector<Timestamp>& cuts) {
    std::optional<StepGraph::Place> first;
    Timestamp begin = item.range.begin;
    for (auto cut = std::upper_bound(cuts.begin(), cuts.end(), begin);
         cut != cuts.end() && *cut < item.range.end; ++cut) {
        if (*cut == begin) continue;  // twice the same
        const StepGraph::Place piece = link(item, {begin, *cut});
        if (!first) first = piece;
        begin = *cut;
    }
    const StepGraph::Place rest = link(item, {begin, item.range.end});
    return first.value_or(rest);
}

void HostLine::appendWait(const HostItem& item, StepGraph::Place until,
                          const std::vector<Timestamp>& cuts) {
    link(item, {item.range.begin, item.range.begin});
    HostItem rest = item;
    rest.kind = PathKind::kLatency;
    rest.range.begin = m_graph.activities()[until].range.end;
    m_graph.depend(append(rest, cuts), until);
}

std::optional<StepGraph::Place> HostLine::at(Timestamp time) const {
    const auto after = std::upper_bound(m_ends.begin(), m_ends.end(), time);
    if (after == m_ends.begin()) return std::nullopt;
    return m_places[static_cast<std::size_t>(after - m_ends.begin()) - 1];
}

}  // namespace shardscope::analysis
