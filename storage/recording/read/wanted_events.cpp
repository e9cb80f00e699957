#include "storage/recording/read/wanted_events.h"

#include "storage/model/words.h"
#include "storage/recording/read/event_columns.h"

#include <algorithm>
#include <variant>

namespace shardscope::storage {

using enum EventColumn::Index;

void WantedEvents::Span::narrow(Comparison comparison, std::int64_t value) {
    const bool equal = comparison == Comparison::kEqual;
    // The value itself may stay: SQLite leaves it out where it is not meant.
    if (equal || comparison == Comparison::kGreater || comparison == Comparison::kGreaterOrEqual)
        from = std::max(from, value);
    if (equal || comparison == Comparison::kLess || comparison == Comparison::kLessOrEqual)
        to = std::min(to, value);
}

bool WantedEvents::uses(int column) {
    switch (column) {
        case kKind:
        case kRank:
        case kLane:
        case kLaneName:
        case kRole:
        case kName:
        case kStart:
        case kEnd:
            return true;
        default:
            return false;
    }
}

void WantedEvents::add(const ColumnConstraint& constraint) {
    if (const auto* text = std::get_if<std::string>(&constraint.value))
        return addText(constraint, *text);
    const std::int64_t value = std::get<std::int64_t>(constraint.value);
    switch (constraint.column) {
        case kRank:
            return m_rank.narrow(constraint.comparison, value);
        case kLane:
            // Memory events have no lane, so no comparison with one holds for them.
            m_lanesOnly = true;
            return m_lane.narrow(constraint.comparison, value);
        case kStart:
            return m_start.narrow(constraint.comparison, value);
        case kEnd: {
            Span end{m_endFrom};
            end.narrow(constraint.comparison, value);
            m_endFrom = end.from;
            return;
        }
        default:
            return;
    }
}

void WantedEvents::addText(const ColumnConstraint& constraint, const std::string& text) {
    if (constraint.comparison != Comparison::kEqual) return;
    if (constraint.column == kKind) m_kind = text;
    if (constraint.column == kRole) m_role = text;
    if (constraint.column == kName) m_name = text;
    if (constraint.column == kLaneName) m_laneName = text;
}

bool WantedEvents::has(const ChunkDirectory::Lane& lane, const std::string& role,
                       const std::string& ownName) const {
    if (m_kind && *m_kind != toWord(lane.kind)) return false;
    if (!m_rank.has(lane.rank.value)) return false;
    if (lane.kind == EventKind::kMemory) return !m_lanesOnly && !m_role && !m_laneName;
    if (m_role && *m_role != role) return false;
    if (m_laneName && *m_laneName != ownName) return false;
    if (lane.kind == EventKind::kCounter && m_name && *m_name != ownName) return false;
    return m_lane.has(lane.lane.value);
}

}  // namespace shardscope::storage
