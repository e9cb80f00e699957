#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/pages/timeline/canvas/timeline_lanes.h"
#include "app/desktop/pages/timeline/canvas/timeline_overlay.h"
#include "app/desktop/pages/timeline/details/slice_details.h"
#include "app/desktop/widgets/theme.h"
#include "storage/model/rank_facts.h"

#include <QEvent>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QSignalBlocker>
#include <algorithm>

namespace shardscope::desktop {

TimelineCanvas::TimelineCanvas(QWidget* parent)
    : QAbstractScrollArea(parent), m_filter(new QLineEdit(this)), m_order(new QToolButton(this)) {
    setFrameShape(QFrame::NoFrame);
    setLayoutDirection(Qt::LeftToRight);  // as it is painted, in every language
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    m_spoken.setName(tr("Timeline of all ranks"));
    describeView();
    m_filter->setPlaceholderText(tr("Filter"));
    m_filter->setAccessibleName(tr("Show only lanes whose name has this text"));
    m_filter->setFont(textFont(kSmallPixels));
    m_filter->installEventFilter(this);
    connect(m_filter, &QLineEdit::textChanged, this, &TimelineCanvas::setFilter);
    m_order->setToolTip(tr("Order of the ranks"));
    m_order->setAccessibleName(tr("Order of the ranks"));
    m_order->setFocusPolicy(Qt::StrongFocus);
    m_order->setIconSize({16, 16});
    m_order->setPopupMode(QToolButton::InstantPopup);
    auto* orders = new QMenu(m_order);
    connect(orders, &QMenu::aboutToShow, this, [this, orders] { fillRankOrders(*orders); });
    m_order->setMenu(orders);
    retint();
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
    const bool isOther = run != m_run;
    m_run = run;
    m_picks = {};
    m_seeksChosen = false;
    m_shown.setOrigin(std::nullopt);
    m_shown.setRecording(recording);
    lanesChanged();
    if (isOther) verticalScrollBar()->setValue(0);
    // the caller sets the view next: only that picture is requested
    if (recording) m_shown.setView(recording->bounds());
    describeSlice();
    describeView();
}

void TimelineCanvas::setFrame(const TimelineFramePtr& frame) {
    m_frame = frame;
    if (frame) relayOut([&] { return m_shown.addDepths(*frame); });
    if (m_seeksChosen) showChosen();
    touchPicture();
    followPointer();
}

void TimelineCanvas::setView(TimeRange view) {
    changeView(view);
}

void TimelineCanvas::setStretch(Timestamp origin, TimeRange bounds) {
    m_shown.setBounds(bounds);
    m_shown.setOrigin(origin);
    m_shown.setRulerTime(RulerTime::kRelative);
    m_shown.setStepLines(true);
}

void TimelineCanvas::setShadow(std::optional<Timestamp> time,
                               const std::optional<TimelineHit>& hit) {
    m_picks.shadowTime = time;
    m_picks.shadow = hit;
    viewport()->update();
}

std::optional<Timestamp> TimelineCanvas::pointedTime() const {
    const auto& at = m_pointer.at();
    if (!at || !m_shown.lanesArea().contains(*at)) return std::nullopt;
    return m_shown.timeAt(at->x());
}

void TimelineCanvas::setSelectedRange(std::optional<TimeRange> range) {
    m_picks.range = range;
    viewport()->update();
}

void TimelineCanvas::selectSlice(LaneAddress key, const SliceView& slice) {
    const LaneRow* row = lanes().row(key);
    const bool isDeep =
        row != nullptr && row->kind == LaneRow::Kind::kSpans && slice.depth >= row->depths;
    if (row == nullptr || isDeep) {
        m_shown.reveal(key, slice.depth);
        lanesChanged();
        requestPicture();
    }
    m_picks.links.clear();
    const RecordingPtr& recording = m_shown.recording();
    const LaneFacts* lane = recording ? recording->lane(key) : nullptr;
    m_picks.chosen = TimelineHit{key, lane != nullptr ? lane->role : LaneRole::kHost, slice};
    const TimeRange& range = slice.range;
    if (!view().contains(range.begin) || !view().contains(range.end)) {
        const Duration half{std::max(view().duration().ns / 2, range.duration().ns)};
        const Timestamp centre{range.begin.ns + range.duration().ns / 2};
        changeView({centre - half, centre + half});
    }
    m_seeksChosen = true;
    showChosen();
    describeSlice();
    viewport()->update();
    Q_EMIT sliceSelected();
}

void TimelineCanvas::showSlice(LaneAddress key, const SliceView& slice) {
    constexpr std::int64_t kMostOfView = 50, kAround = 10;
    const Duration own{std::max<std::int64_t>(slice.range.duration().ns, 100)};
    if (view().duration().ns / kMostOfView > own.ns) {
        const Timestamp centre{slice.range.begin.ns + slice.range.duration().ns / 2};
        const Duration half{own.ns * kAround / 2};
        changeView({centre - half, centre + half});
    }
    selectSlice(key, slice);
}

/// As the panel of details says it.
void TimelineCanvas::describeSlice() {
    const RecordingPtr& recording = m_shown.recording();
    const auto& chosen = m_picks.chosen;
    const LaneFacts* lane = chosen && recording ? recording->lane(chosen->key) : nullptr;
    m_spoken.setCurrent(
        lane != nullptr ? spokenSlice(sliceDetails(*recording, *lane, chosen->slice)) : QString());
}

void TimelineCanvas::describeView() {
    const QString keys =
        tr("W and S zoom, A and D move, comma and period step from event to event");
    const RecordingPtr& recording = m_shown.recording();
    if (!recording) return m_spoken.setSummary(keys);
    const TimeRange seen = view();
    const Duration step{seen.duration().ns / 1000};
    m_spoken.setSummary(tr("%1 to %2 of %3, %4 lanes of %5 ranks. %6")
                            .arg(formatInstant(seen.begin, step), formatInstant(seen.end, step),
                                 formatDuration(recording->bounds().duration()))
                            .arg(std::ranges::count_if(lanes().rows, &LaneRow::isLane))
                            .arg(recording->summary.ranks.size())
                            .arg(keys));
}

/// Brings the chosen slice into view; again when the picture comes that says on which level of its
/// track it is.
void TimelineCanvas::showChosen() {
    if (!m_picks.chosen) return;
    const auto& [key, role, slice] = *m_picks.chosen;
    const LaneRow* row = lanes().row(key);
    if (row == nullptr) return;
    const bool isTrack = row->kind == LaneRow::Kind::kTrack;
    const bool isKnown = !isTrack || (m_frame && m_frame->track(row->parts) != nullptr &&
                                      m_frame->query.range.intersects(slice.range));
    const int level = m_shown.levelIn(*row, key, slice, m_frame.get());
    if (isTrack && isKnown && level >= row->depths) {
        m_shown.reveal(key, level);
        lanesChanged();
        row = lanes().row(key);
    }
    m_seeksChosen = !isKnown;
    const auto box = m_shown.boxOf(key, slice, m_frame.get());
    bringIntoView(*row, box.value_or(m_shown.rowArea(*row)));
}

void TimelineCanvas::highlight(const QString& name) {
    m_picks.highlighted = name;
    viewport()->update();
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

void TimelineCanvas::stepToLane(int by) {
    if (!m_frame) return;
    const auto& rows = lanes().rows;
    const auto& chosen = m_picks.chosen;
    const LaneRow* from = chosen ? lanes().row(chosen->key) : nullptr;
    const Timestamp time =
        chosen ? std::max(chosen->slice.range.begin, view().begin) : view().begin;
    auto at = from != nullptr ? from - rows.data() + by : std::ptrdiff_t{0};
    for (; at >= 0 && at < std::ssize(rows); at += by) {
        const LaneRow& row = rows[static_cast<std::size_t>(at)];
        if (!row.isLane() || row.kind == LaneRow::Kind::kCounter) continue;
        const auto hit = m_shown.nearestIn(row, *m_frame, time);
        if (hit) return selectSlice(hit->key, hit->slice);
    }
}

void TimelineCanvas::clearSlice() {
    m_picks.chosen.reset();
    m_picks.links.clear();
    describeSlice();
    viewport()->update();
    Q_EMIT sliceCleared();
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

void TimelineCanvas::changeView(TimeRange view) {
    if (!m_shown.recording()) return;
    m_shown.setView(view);
    describeView();
    touchPicture();
    requestPicture();
    followPointer();
    Q_EMIT viewChanged(m_shown.view());
}

std::optional<TimelineHit> TimelineCanvas::hitAt(QPointF at) const {
    return m_frame ? m_shown.hitAt(*m_frame, at) : std::nullopt;
}

void TimelineCanvas::setMarks(const Marks& marks) {
    m_picks.marks = marks;
    marksChanged();
}

void TimelineCanvas::marksChanged() {
    const auto& marks = m_picks.marks;
    m_shown.setOrigin(marks.empty() ? std::nullopt : std::optional(marks.front().time));
    touchPicture();
    followPointer();
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
    if (lanes().rows.empty() && !m_filter->text().isEmpty()) paintNoLane(painter);
    if (m_frame) paintHighlight(painter, m_shown, *m_frame, m_picks.highlighted, Theme::of(this));
    paintOverlay(painter, m_shown, m_frame.get(), m_picks, m_pointer, Theme::of(this));
}

void TimelineCanvas::paintNoLane(QPainter& painter) const {
    painter.setPen(Theme::of(this).quietText);
    painter.setFont(textFont(kTextPixels));
    painter.drawText(viewport()->rect().adjusted(kGapPage, kRulerHeight, -kGapPage, 0),
                     Qt::AlignHCenter | Qt::AlignVCenter | Qt::TextWordWrap,
                     tr("No lane has “%1” in its name, its group or its rank. Esc in the filter "
                        "shows all.")
                         .arg(m_filter->text()));
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
