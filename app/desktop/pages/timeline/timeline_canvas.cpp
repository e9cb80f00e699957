#include "app/desktop/pages/timeline/timeline_canvas.h"

#include "app/desktop/pages/timeline/rank_order_menu.h"
#include "app/desktop/pages/timeline/slice_details.h"
#include "app/desktop/pages/timeline/timeline_geometry.h"
#include "app/desktop/pages/timeline/timeline_highlight.h"
#include "app/desktop/pages/timeline/timeline_hover.h"
#include "app/desktop/pages/timeline/timeline_lanes.h"
#include "app/desktop/widgets/icon.h"
#include "app/desktop/widgets/theme.h"

#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

constexpr double kZoomStep = 0.7;
constexpr double kPanStep = 0.15;
constexpr int kScrollStep = 48;
constexpr int kAboveRow = 48;  ///< of the lanes before one that is scrolled to

}  // namespace

TimelineCanvas::TimelineCanvas(QWidget* parent)
    : QAbstractScrollArea(parent), m_filter(new QLineEdit(this)), m_order(new QToolButton(this)) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    setAccessibleName(tr("Timeline of all ranks"));
    setAccessibleDescription(
        tr("W and S zoom, A and D move, comma and period step from event to event"));
    m_filter->setPlaceholderText(tr("Filter"));
    m_filter->setAccessibleName(tr("Show only lanes whose name has this text"));
    m_filter->setFocusPolicy(Qt::ClickFocus);
    m_filter->setFont(textFont(kSmallPixels));
    m_filter->installEventFilter(this);
    connect(m_filter, &QLineEdit::textChanged, this, &TimelineCanvas::setFilter);
    m_order->setToolTip(tr("Order of the ranks"));
    m_order->setAccessibleName(tr("Order of the ranks"));
    m_order->setFocusPolicy(Qt::ClickFocus);
    m_order->setIconSize({16, 16});
    m_order->setPopupMode(QToolButton::InstantPopup);
    auto* orders = new QMenu(m_order);
    connect(orders, &QMenu::aboutToShow, this, [this, orders] { fillRankOrders(*orders); });
    m_order->setMenu(orders);
    retint();
}

void TimelineCanvas::retint() {
    m_order->setIcon(tintedIcon(QStringLiteral("sort"), Theme::of(palette()).quietText));
}

void TimelineCanvas::setRecording(const RecordingPtr& recording) {
    // the old picture of the same run stays until there is a new one
    const std::string run = recording ? recording->summary.run.id : std::string();
    if (run.empty() || run != m_run) {
        m_frame.reset();
        const QSignalBlocker quiet(m_filter);
        m_filter->clear();  // lanes of another run have other names
        m_orderedBy.clear();
    }
    m_run = run;
    m_picks = {};
    m_shown.setOrigin(std::nullopt);
    m_shown.setRecording(recording);
    lanesChanged();
    // whoever sets a recording sets what to see of it next: only that picture is asked for
    if (recording) m_shown.setView(recording->bounds());
}

void TimelineCanvas::setRanks(const std::vector<RankId>& ranks) {
    relayOut([&] { return m_shown.setRanks(ranks); });
}

void TimelineCanvas::setRankOrder(const std::vector<RankId>& order) {
    relayOut([&] { return m_shown.setRankOrder(order); });
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

void TimelineCanvas::setFrame(const TimelineFramePtr& frame) {
    m_frame = frame;
    if (frame) relayOut([&] { return m_shown.addDepths(*frame); });
    touchPicture();
    followPointer();
}

void TimelineCanvas::setDepths(const LaneDepths& depths) {
    relayOut([&] { return m_shown.addDepths(depths); });
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

void TimelineCanvas::setView(TimeRange view) {
    changeView(view);
}

void TimelineCanvas::setSelectedRange(std::optional<TimeRange> range) {
    m_picks.range = range;
    viewport()->update();
}

void TimelineCanvas::selectSlice(LaneAddress key, const SliceView& slice) {
    const LaneRow* row = lanes().row(key);
    if (row == nullptr || (slice.depth >= row->depths && row->isLane())) {
        m_shown.reveal(key, slice.depth);
        lanesChanged();
        requestPicture();
        row = lanes().row(key);
    }
    m_picks.links.clear();
    m_picks.chosen = TimelineHit{key, row != nullptr ? row->role : LaneRole::kHost, slice};
    const TimeRange& range = slice.range;
    if (!view().contains(range.begin) || !view().contains(range.end)) {
        const Duration half{std::max(view().duration().ns / 2, range.duration().ns)};
        const Timestamp centre{range.begin.ns + range.duration().ns / 2};
        changeView({centre - half, centre + half});
    }
    if (row != nullptr) bringIntoView(*row);
    const auto labels = sliceLabels(m_picks.chosen->role, slice);
    setAccessibleDescription(labels.empty() ? slice.name : labels.front());
    viewport()->update();
    Q_EMIT sliceSelected();
}

void TimelineCanvas::highlight(const QString& name) {
    m_picks.highlighted = name;
    viewport()->update();
}

void TimelineCanvas::bringIntoView(const LaneRow& row) {
    if (row.pinned) return;
    const int room = static_cast<int>(m_shown.scrollArea().height());
    const int pinned = lanes().pinnedHeight;
    const int top = m_shown.top() + pinned;
    if (row.y < top || row.y + row.height > top + room)
        verticalScrollBar()->setValue(row.y - pinned - kAboveRow);
}

void TimelineCanvas::setLinks(std::vector<LinkedSlice> links) {
    m_picks.links = std::move(links);
    viewport()->update();
}

void TimelineCanvas::followLink(int place) {
    if (place < 0 || place >= static_cast<int>(m_picks.links.size())) return;
    const LinkedSlice to = m_picks.links[static_cast<std::size_t>(place)];
    selectSlice(to.key, to.slice);
}

void TimelineCanvas::followInTime(bool forward) {
    if (!m_picks.chosen) return;
    const Timestamp from = m_picks.chosen->slice.range.begin;
    int best = -1;
    Duration nearest;
    for (std::size_t i = 0; i < m_picks.links.size(); ++i) {
        const LinkedSlice& link = m_picks.links[i];
        const Duration away =
            forward ? link.slice.range.begin - from : from - link.slice.range.begin;
        // a call and what it started may begin together: the device is forward
        const bool right = away.ns != 0 ? away.ns > 0 : forward == link.slice.onDevice;
        if (link.kind == LinkKind::kPeer || !right) continue;
        if (best >= 0 && away >= nearest) continue;
        best = static_cast<int>(i);
        nearest = away;
    }
    followLink(best);
}

void TimelineCanvas::clearSlice() {
    m_picks.chosen.reset();
    m_picks.links.clear();
    viewport()->update();
    Q_EMIT sliceCleared();
}

/// Others are shown, or there is other room for them.
void TimelineCanvas::lanesChanged() {
    const int room = std::max(1, static_cast<int>(m_shown.lanesArea().height()));
    verticalScrollBar()->setRange(0, std::max(0, lanes().height - room));
    verticalScrollBar()->setPageStep(room);
    verticalScrollBar()->setSingleStep(kScrollStep);
    placeFilter();
    Q_EMIT plotChanged(m_shown.labelWidth(), static_cast<int>(m_shown.scale().width));
    touchPicture();
}

void TimelineCanvas::touchPicture() {
    m_picture = QPixmap();
    viewport()->update();
}

void TimelineCanvas::requestPicture() {
    if (!isVisible()) return;
    const auto query = m_shown.query();
    if (!query) return;
    m_asked = query->lanes;
    Q_EMIT pictureRequested(*query);
    if (auto unknown = m_shown.unknownDepths(); !unknown.empty()) Q_EMIT depthsRequested(unknown);
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
}

void TimelineCanvas::actOnTarget(LaneAction action) {
    act(action, target());
}

/// What lies under a pointer that rests has changed.
void TimelineCanvas::followPointer() {
    if (m_pointer.at() && !m_pointer.isHeld()) hover(*m_pointer.at());
    viewport()->update();
}

void TimelineCanvas::changeView(TimeRange view) {
    if (!m_shown.recording()) return;
    m_shown.setView(view);
    touchPicture();
    requestPicture();
    followPointer();
    Q_EMIT viewChanged(m_shown.view());
}

void TimelineCanvas::pan(double fraction) {
    if (m_shown.recording()) changeView(panned(view(), fraction, m_shown.recording()->bounds()));
}

void TimelineCanvas::scroll(int pixels) {
    verticalScrollBar()->setValue(verticalScrollBar()->value() + pixels);
}

void TimelineCanvas::zoom(double factor, Timestamp anchor) {
    if (m_shown.recording())
        changeView(zoomed(view(), factor, anchor, m_shown.recording()->bounds()));
}

std::optional<TimelineHit> TimelineCanvas::hitAt(QPointF at) const {
    return m_frame ? m_shown.hitAt(*m_frame, at) : std::nullopt;
}

Timestamp TimelineCanvas::anchor() const {
    const auto& at = m_pointer.at();
    return at && m_shown.lanesArea().contains(*at)
               ? m_shown.timeAt(at->x())
               : view().begin + Duration{view().duration().ns / 2};
}

void TimelineCanvas::zoomToSelection() {
    if (m_picks.range) return changeView(*m_picks.range);
    if (!m_picks.chosen) return;
    // with what is around it: a slice from edge to edge shows nothing
    const TimeRange& range = m_picks.chosen->slice.range;
    const Duration margin{std::max<std::int64_t>(100, range.duration().ns / 5)};
    changeView({range.begin - margin, range.end + margin});
}

void TimelineCanvas::setMarks(const Marks& marks) {
    m_picks.marks = marks;
    marksChanged();
}

/// The slice first, then the range. Marks stay: they are removed from their list.
void TimelineCanvas::clearNext() {
    if (m_picks.chosen || !m_picks.highlighted.isEmpty()) {
        m_picks.highlighted.clear();
        clearSlice();
    } else if (m_picks.range) {
        Q_EMIT selectionCleared();
    }
}

void TimelineCanvas::marksChanged() {
    const auto& marks = m_picks.marks;
    m_shown.setOrigin(marks.empty() ? std::nullopt : std::optional(marks.front().time));
    touchPicture();
    followPointer();
}

void TimelineCanvas::run(TimelineCommand command) {
    if (!m_shown.recording()) return;
    switch (command) {
        case TimelineCommand::kNone:
            return;
        case TimelineCommand::kZoomIn:
            return zoom(kZoomStep, anchor());
        case TimelineCommand::kZoomOut:
            return zoom(1 / kZoomStep, anchor());
        case TimelineCommand::kPanLeft:
            return pan(-kPanStep);
        case TimelineCommand::kPanRight:
            return pan(kPanStep);
        case TimelineCommand::kScrollUp:
            return scroll(-kScrollStep);
        case TimelineCommand::kScrollDown:
            return scroll(kScrollStep);
        case TimelineCommand::kFit:
            return changeView(m_shown.recording()->bounds());
        case TimelineCommand::kZoomToSelection:
            return zoomToSelection();
        case TimelineCommand::kNextSlice:
            return neighbourRequested(true);
        case TimelineCommand::kPreviousSlice:
            return neighbourRequested(false);
        case TimelineCommand::kNextRank:
            return sameCollectiveRequested(1);
        case TimelineCommand::kPreviousRank:
            return sameCollectiveRequested(-1);
        case TimelineCommand::kFollowBack:
            return followInTime(false);
        case TimelineCommand::kFollowForward:
            return followInTime(true);
        case TimelineCommand::kMark:
            return markRequested(anchor());
        case TimelineCommand::kClear:
            return clearNext();
        case TimelineCommand::kLevels:
            return actOnTarget(LaneAction::kLevels);
        case TimelineCommand::kTaller:
            return actOnTarget(LaneAction::kTaller);
        case TimelineCommand::kPin:
            return actOnTarget(LaneAction::kPin);
        case TimelineCommand::kHide:
            return actOnTarget(LaneAction::kHide);
        case TimelineCommand::kShowHidden:
            return act(LaneAction::kShowHidden, nullptr);
        case TimelineCommand::kMoveUp:
            return actOnTarget(LaneAction::kMoveUp);
        case TimelineCommand::kMoveDown:
            return actOnTarget(LaneAction::kMoveDown);
        case TimelineCommand::kFoldAll:
            return act(LaneAction::kFoldAll, nullptr);
        case TimelineCommand::kUnfoldAll:
            return act(LaneAction::kUnfoldAll, nullptr);
        case TimelineCommand::kFilter:
            return act(LaneAction::kFilter, nullptr);
        case TimelineCommand::kRulerTime:
            m_shown.nextRulerTime();
            return touchPicture();
    }
}

void TimelineCanvas::keyPressEvent(QKeyEvent* event) {
    const TimelineCommand command =
        timelineCommand(event->key(), event->nativeScanCode(), event->modifiers());
    if (command == TimelineCommand::kNone) {
        QAbstractScrollArea::keyPressEvent(event);
        return;
    }
    run(command);
    event->accept();
}

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
    const double notches = event->angleDelta().y() / 120.0;
    const double sideways = event->angleDelta().x() / 120.0;
    const bool isSideways = std::abs(sideways) > std::abs(notches);
    if (event->modifiers().testFlag(Qt::ControlModifier))
        zoom(std::pow(kZoomStep, notches), m_shown.timeAt(event->position().x()));
    else if (isSideways || event->modifiers().testFlag(Qt::ShiftModifier))
        pan(-(isSideways ? sideways : notches) * kPanStep);
    else
        scroll(-static_cast<int>(notches * kScrollStep));
    event->accept();
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return;
    const bool pans =
        event->modifiers().testFlag(Qt::ShiftModifier) || event->button() == Qt::MiddleButton;
    m_pointer.press(event->position(), view(), pans);
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event) {
    m_pointer.move(event->position());
    if (!m_pointer.isHeld())
        hover(event->position());
    else if (m_pointer.drag() == TimelinePointer::Drag::kPans && m_shown.recording())
        changeView(panned(m_pointer.viewBefore(), -m_pointer.moved() / m_shown.scale().width,
                          m_shown.recording()->bounds()));
    viewport()->update();
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event) {
    if (!m_pointer.isHeld()) return;
    m_pointer.move(event->position());
    const TimelinePointer::Drag drag = m_pointer.drag();
    const auto [left, right] = m_pointer.stretch();
    m_pointer.release();
    followPointer();
    if (drag == TimelinePointer::Drag::kNone) return click(event->position());
    if (drag == TimelinePointer::Drag::kPans || !m_shown.recording()) return;
    const TimeRange range =
        TimeRange{m_shown.timeAt(left), m_shown.timeAt(right)}.intersection(view());
    if (!range.empty()) Q_EMIT rangeSelected(range);
}

void TimelineCanvas::click(QPointF at) {
    const bool onName = at.x() < m_shown.labelWidth();
    const LaneRow* row = onName ? m_shown.nameAt(at.y()) : m_shown.rowAt(at.y());
    if (row != nullptr && (onName || row->thin)) {
        // a row of a heat map is too thin to be aimed at: it opens
        if (row->isHeader() || row->thin) return act(LaneAction::kFold, row);
        if (row->allDepths > kFirstDepths) act(LaneAction::kLevels, row);
    } else if (const auto hit = hitAt(at)) {
        selectSlice(hit->key, hit->slice);
    } else {
        clearSlice();
    }
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

/// Escape and Enter lead from the filter back to the lanes.
bool TimelineCanvas::eventFilter(QObject* watched, QEvent* event) {
    if (watched != m_filter || event->type() != QEvent::KeyPress)
        return QAbstractScrollArea::eventFilter(watched, event);
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Escape) m_filter->clear();
    if (key != Qt::Key_Escape && key != Qt::Key_Return && key != Qt::Key_Enter) return false;
    setFocus();
    return true;
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
    const auto hit = hitAt(event->position());
    if (!hit) return;
    const Duration margin{std::max<std::int64_t>(hit->slice.range.duration().ns, 100)};
    changeView({hit->slice.range.begin - margin, hit->slice.range.end + margin});
}

void TimelineCanvas::hover(QPointF at) {
    m_picks.hovered = hitAt(at);
    Q_EMIT hoverChanged(hoverLine(m_shown, m_frame.get(), m_picks.hovered, at));
}

bool TimelineCanvas::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave) {
        m_pointer.leave();
        m_picks.hovered.reset();
        viewport()->update();
        Q_EMIT hoverChanged({});
    }
    return QAbstractScrollArea::viewportEvent(event);
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

QPixmap TimelineCanvas::renderPicture() const {
    const double ratio = devicePixelRatioF();
    QPixmap picture((QSizeF(viewport()->size()) * ratio).toSize().expandedTo({1, 1}));
    picture.setDevicePixelRatio(ratio);
    picture.fill(Theme::of(this).window);
    QPainter painter(&picture);
    paintTimeline(painter, m_shown, m_frame.get(), Theme::of(this));
    return picture;
}

void TimelineCanvas::paintEvent(QPaintEvent*) {
    if (m_picture.isNull()) m_picture = renderPicture();
    QPainter painter(viewport());
    painter.drawPixmap(0, 0, m_picture);
    if (hasFocus()) {
        painter.fillRect(QRectF(0, kRulerHeight, 2, viewport()->height() - kRulerHeight),
                         Theme::of(this).accent);
    }
    if (m_frame) paintHighlight(painter, m_shown, *m_frame, m_picks.highlighted, Theme::of(this));
    paintOverlay(painter, m_shown, m_picks, m_pointer, Theme::of(this));
}

void TimelineCanvas::focusInEvent(QFocusEvent* event) {
    QAbstractScrollArea::focusInEvent(event);
    viewport()->update();
}

void TimelineCanvas::focusOutEvent(QFocusEvent* event) {
    QAbstractScrollArea::focusOutEvent(event);
    viewport()->update();
}

void TimelineCanvas::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    if (event->type() != QEvent::PaletteChange) return;
    retint();
    touchPicture();
}

}  // namespace shardscope::desktop
