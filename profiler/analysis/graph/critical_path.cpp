#include "profiler/analysis/graph/critical_path.h"

#include <algorithm>
#include <optional>

namespace shardscope::analysis {
namespace {

using Place = StepGraph::Place;

bool continues(const PathPiece& earlier, const PathPiece& later) {
    return earlier.rank == later.rank && earlier.kind == later.kind && earlier.name == later.name &&
           earlier.layer == later.layer;
}

/// From the end on.
class Walk {
public:
    explicit Walk(const StepGraph& graph) : m_graph(graph) {}

    std::vector<PathPiece> run() {
        for (std::optional<Place> place = last(m_graph.ends()); place;
             place = last(m_graph.needs(*place)))
            take(*place);
        std::reverse(m_pieces.begin(), m_pieces.end());
        return std::move(m_pieces);
    }

private:
    template <class Places>
    [[nodiscard]] std::optional<Place> last(const Places& places) const {
        const auto& activities = m_graph.activities();
        const auto found = std::max_element(places.begin(), places.end(), [&](Place a, Place b) {
            return activities[a].range.end < activities[b].range.end;
        });
        if (found == places.end()) return std::nullopt;
        return *found;
    }

    /// The activity, and what lay before it.
    void take(Place place) {
        const Activity& activity = m_graph.activities()[place];
        add(activity, activity.kind, activity.range);
        const bool isFirst = m_graph.needs(place).empty();
        const Timestamp ready = isFirst ? m_graph.range().begin : m_graph.readyAt(place);
        add(activity, activity.before, {ready, activity.range.begin});
    }

    void add(const Activity& activity, PathKind kind, TimeRange range) {
        if (range.empty()) return;
        const PathPiece piece{activity.rank, kind, activity.name, activity.layer, range};
        if (!m_pieces.empty() && continues(piece, m_pieces.back()))
            m_pieces.back().range.begin = range.begin;
        else
            m_pieces.push_back(piece);
    }

    const StepGraph& m_graph;
    std::vector<PathPiece> m_pieces;
};

}  // namespace

std::vector<PathPiece> criticalPath(const StepGraph& graph) {
    return Walk(graph).run();
}

}  // namespace shardscope::analysis
