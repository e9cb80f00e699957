// Which lanes there are and where: what one looks at stays in place.
#include "app/desktop/models/rank_order.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/widgets/icon.h"
#include "app/desktop/widgets/theme.h"

#include <QContextMenuEvent>
#include <QMenu>
#include <QResizeEvent>
#include <QScrollBar>
#include <QSignalBlocker>
#include <algorithm>
#include <functional>

class QMenu;

namespace shardscope::desktop {
namespace {

/// Fills `menu` again: by rank, then by each figure; `current` is the name of the one that is
/// checked, empty: by rank. `choose` gets the name and the order, which is empty by rank.
void fillRankOrderMenu(
    QMenu& menu, const std::vector<RankFigure>& figures, const QString& current,
    const std::function<void(const QString& name, const std::vector<RankId>& order)>& choose) {
    menu.clear();
    const auto add = [&](const QString& text, const QString& name, std::vector<RankId> order) {
        QAction* entry = menu.addAction(text);
        entry->setCheckable(true);
        entry->setChecked(name == current);
        QObject::connect(entry, &QAction::triggered, &menu,
                         [choose, name, order = std::move(order)] { choose(name, order); });
    };
    add(QObject::tr("By rank"), {}, {});
    menu.addSeparator();
    for (const RankFigure& figure : figures)
        add(QObject::tr("Highest first: %1").arg(figure.name), figure.name, highestFirst(figure));
}

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
    Q_EMIT laneOptionsChanged();
}

void TimelineCanvas::setLeastLabelWidth(int width) {
    if (width == m_shown.labelWidth() ||
        std::max(width, fittedLabelWidth()) == m_shown.labelWidth())
        return;
    m_shown.setLeastLabelWidth(width);
    lanesChanged();
    requestPicture();
}

void TimelineCanvas::takeLaneOptions(const LaneLayoutOptions& options) {
    const QSignalBlocker quiet(m_filter);
    if (m_filter->text().trimmed() != options.filter) m_filter->setText(options.filter);
    relayOut([&] {
        m_shown.takeOptions(options);
        return true;
    });
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
    Q_EMIT laneOptionsChanged();
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
