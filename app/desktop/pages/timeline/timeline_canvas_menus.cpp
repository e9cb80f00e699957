// What one does to lanes and ranks by the corner beside the ruler, by menus and by key.
#include "app/desktop/pages/timeline/rank_order_menu.h"
#include "app/desktop/pages/timeline/timeline_canvas.h"
#include "app/desktop/widgets/icon.h"
#include "app/desktop/widgets/theme.h"

#include <QContextMenuEvent>
#include <QMenu>
#include <algorithm>

namespace shardscope::desktop {

void TimelineCanvas::retint() {
    m_order->setIcon(tintedIcon(QStringLiteral("sort"), Theme::of(palette()).quietText));
}

void TimelineCanvas::setRankFigures(std::vector<RankFigure> figures) {
    m_rankFigures = std::move(figures);
    placeFilter();
    const auto chosen =
        std::find_if(m_rankFigures.begin(), m_rankFigures.end(),
                     [this](const RankFigure& figure) { return figure.name == m_orderedBy; });
    // of a selected rank alone there are none: the order stays for when all are there again
    if (chosen != m_rankFigures.end()) setRankOrder(highestFirst(*chosen));
}

void TimelineCanvas::fillRankOrders(QMenu& menu) {
    fillRankOrderMenu(menu, m_rankFigures, m_orderedBy,
                      [this](const QString& name, const std::vector<RankId>& order) {
                          m_orderedBy = name;
                          setRankOrder(order);
                      });
}

/// The corner beside the ruler.
void TimelineCanvas::placeFilter() {
    const int width = std::max(60, m_shown.labelWidth() - 28), button = 28;
    const bool any = m_shown.recording() != nullptr, orders = any && !m_rankFigures.empty();
    m_filter->setGeometry(16, 5, orders ? width - button - 4 : width, 24);
    m_filter->setVisible(any);
    m_order->setGeometry(16 + width - button, 5, button, 24);
    m_order->setVisible(orders);
}

const LaneRow* TimelineCanvas::target() const {
    if (const auto& at = m_pointer.at())
        if (const LaneRow* row =
                at->x() < m_shown.labelWidth() ? m_shown.nameAt(at->y()) : m_shown.rowAt(at->y()))
            return row;
    return m_picks.chosen ? lanes().row(m_picks.chosen->key) : nullptr;
}

void TimelineCanvas::act(LaneAction action, const LaneRow* row) {
    if (action == LaneAction::kFilter) {
        m_filter->setFocus();
        m_filter->selectAll();
        return;
    }
    std::optional<LaneRow> copy;  // the layout that it is of goes
    if (row != nullptr) copy = *row;
    const bool moves = action == LaneAction::kMoveUp || action == LaneAction::kMoveDown;
    if (moves && row != nullptr && row->kind == LaneRow::Kind::kHeader) m_orderedBy.clear();
    relayOut([&] {
        m_shown.apply(action, copy ? &*copy : nullptr);
        return true;
    });
    if (action == LaneAction::kKinds) Q_EMIT nestedChanged(laneOptions().nested);
}

void TimelineCanvas::actOnTarget(LaneAction action) {
    act(action, target());
}

void TimelineCanvas::contextMenuEvent(QContextMenuEvent* event) {
    if (!m_shown.recording()) return;
    const QPointF at = viewport()->mapFromGlobal(event->globalPos());
    const LaneRow* row =
        at.x() < m_shown.labelWidth() ? m_shown.nameAt(at.y()) : m_shown.rowAt(at.y());
    std::optional<LaneRow> copy;
    if (row != nullptr) copy = *row;
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    for (const LaneChoice& choice : laneChoices(copy ? &*copy : nullptr, m_shown.options())) {
        QAction* entry = menu->addAction(choice.text + u'\t' + choice.key);
        connect(entry, &QAction::triggered, this,
                [this, copy, action = choice.action] { act(action, copy ? &*copy : nullptr); });
    }
    if (!m_rankFigures.empty()) fillRankOrders(*menu->addMenu(tr("Order of the ranks")));
    menu->popup(event->globalPos());
    event->accept();
}

}  // namespace shardscope::desktop
