#include "app/desktop/pages/timeline/timeline_pointer.h"

#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

/// A hand that clicks trembles.
constexpr double kClickSlack = 4;

}  // namespace

void TimelinePointer::press(QPointF at, TimeRange view, bool pans) {
    m_at = at;
    m_held = Held{at, view, pans, false};
}

void TimelinePointer::move(QPointF at) {
    m_at = at;
    if (m_held) m_held->moved = m_held->moved || std::abs(moved()) > kClickSlack;
}

TimelinePointer::Drag TimelinePointer::drag() const {
    if (!m_held || !m_held->moved) return Drag::kNone;
    return m_held->pans ? Drag::kPans : Drag::kSelects;
}

double TimelinePointer::moved() const {
    return m_held && m_at ? m_at->x() - m_held->from.x() : 0;
}

TimelinePointer::Stretch TimelinePointer::stretch() const {
    if (!m_held || !m_at) return {};
    return {std::min(m_held->from.x(), m_at->x()), std::max(m_held->from.x(), m_at->x())};
}

}  // namespace shardscope::desktop
