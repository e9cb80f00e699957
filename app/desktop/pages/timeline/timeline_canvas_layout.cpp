// Which lanes there are and where: what one looks at stays in place.
#include "app/desktop/pages/timeline/timeline_canvas.h"
#include "app/desktop/pages/timeline/timeline_geometry.h"

#include <QResizeEvent>
#include <QScrollBar>
#include <algorithm>

namespace shardscope::desktop {
namespace {

constexpr int kAboveRow = 48;  ///< of the lanes before one that is scrolled to

}  // namespace

void TimelineCanvas::setRanks(const std::vector<RankId>& ranks) {
    relayOut([&] { return m_shown.setRanks(ranks); });
}

void TimelineCanvas::setRankOrder(const std::vector<RankId>& order) {
    relayOut([&] { return m_shown.setRankOrder(order); });
}

void TimelineCanvas::setDepths(const LaneDepths& depths) {
    relayOut([&] { return m_shown.addDepths(depths); });
}

void TimelineCanvas::setNested(bool nested) {
    relayOut([&] { return m_shown.setNested(nested); });
}

void TimelineCanvas::setFilter(const QString& text) {
    if (m_filter->text() != text) m_filter->setText(text);
    relayOut([&] { return m_shown.setFilter(text.trimmed()); });
}

void TimelineCanvas::relayOut(const std::function<bool()>& change) {
    const LaneRow* before = lanes().rowAt(m_shown.top() + lanes().pinnedHeight + 1);
    const LaneAddress key = before != nullptr ? before->key : LaneAddress{};
    const bool isLane = before != nullptr && before->isLane();
    const int in = before != nullptr ? before->y - m_shown.top() : 0;
    if (!change()) return;
    lanesChanged();
    const LaneRow* after = isLane ? lanes().row(key) : nullptr;
    if (after != nullptr && after->y - m_shown.top() != in)
        verticalScrollBar()->setValue(after->y - in);
    requestPicture();
    followPointer();
}

/// The whole row where it has the room, else the slice's box in it.
void TimelineCanvas::bringIntoView(const LaneRow& row, const QRectF& box) {
    if (row.pinned) return;
    const int room = static_cast<int>(m_shown.scrollArea().height());
    const int pinned = lanes().pinnedHeight;
    const int top = m_shown.top() + pinned;
    int y = row.y, height = row.height;
    if (row.height > room - kAboveRow) {
        y += static_cast<int>(box.top() - m_shown.rowArea(row).top());
        height = static_cast<int>(box.height());
    }
    if (y < top || y + height > top + room) verticalScrollBar()->setValue(y - pinned - kAboveRow);
}

/// Others are shown, or there is other room for them.
void TimelineCanvas::lanesChanged() {
    const int room = std::max(1, static_cast<int>(m_shown.lanesArea().height()));
    verticalScrollBar()->setRange(0, std::max(0, lanes().height - room));
    verticalScrollBar()->setPageStep(room);
    verticalScrollBar()->setSingleStep(kScrollStep);
    placeFilter();
    Q_EMIT plotChanged(m_shown.labelWidth(), static_cast<int>(m_shown.scale().width));
    describeView();
    touchPicture();
}

void TimelineCanvas::resizeEvent(QResizeEvent*) {
    m_shown.setSize(viewport()->size());
    lanesChanged();
    requestPicture();
}

void TimelineCanvas::scrollContentsBy(int, int) {
    m_shown.setTop(verticalScrollBar()->value());
    touchPicture();
    followPointer();
    // other lanes come near
    if (const auto query = m_shown.query(); query && query->lanes != m_asked) requestPicture();
}

}  // namespace shardscope::desktop
