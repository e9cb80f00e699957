#include "app/desktop/pages/timeline/timeline_page.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/canvas/timeline_legend.h"
#include "app/desktop/pages/timeline/details/slice_panel.h"
#include "app/desktop/pages/timeline/tables/find_bar.h"
#include "app/desktop/pages/timeline/tables/mark_list.h"
#include "app/desktop/pages/timeline/tables/table_panel.h"
#include "app/desktop/pages/timeline/tables/timeline_tables.h"
#include "app/desktop/pages/timeline/tracks/minimap.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/splitter.h"
#include "app/desktop/widgets/theme.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/remote/remote_address.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSettings>
#include <QShortcut>
#include <QVBoxLayout>
#include <algorithm>
#include <map>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kRow = 28;
constexpr int kLowPage = 720;
constexpr int kNarrowPage = 1100;
constexpr int kNarrowDetails = 232;
/// Here the lanes have what room there is.
constexpr int kFlatPage = 460;
constexpr int kLeastLanes = 120;
/// A megabyte or two on its way.
constexpr double kMostFarEvents = 100'000;

/// A table is made of every event of its range: more of them than one waits for, where they come
/// from another host. As if events were spread evenly.
bool isTooFar(const OpenRecording& recording, TimeRange range) {
    if (!storage::remote::isRemote(recording.path.toStdString())) return false;
    const auto all = static_cast<double>(recording.bounds().duration().ns);
    const auto part = static_cast<double>(range.intersection(recording.bounds()).duration().ns);
    return static_cast<double>(recording.summary.events.total()) * part > kMostFarEvents * all;
}

constexpr QLatin1StringView kApart{"timeline/apart"};

}  // namespace

PageEntry TimelinePage::entry() {
    return {page_ids::kTimeline, u"timeline"_s, tr("Timeline"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new TimelinePage(context, parent);
            }};
}

TimelinePage::TimelinePage(PageContext& context, QWidget* parent)
    : RecordingPage(context, parent),
      m_picture(context.loader, Urgency::kPicture),
      m_depths(context.loader, Urgency::kPicture),
      m_density(context.loader, Urgency::kTable),
      m_neighbour(context.loader, Urgency::kSlice),
      m_links(context.loader, Urgency::kSlice),
      m_collective(context.loader, Urgency::kSlice),
      m_headline(context.loader, Urgency::kTable) {
    setUp(buildContent(), entry().icon, tr("What happens when, on every rank?"),
          tr("Open a recording or start a run: this page then shows compute, operators, "
             "communication and memory of all ranks on one time axis."),
          {{0, 0, 0.78, 0.06},
           {0.1, 0.1, 0.68, 0.24},
           {0.1, 0.38, 0.68, 0.24},
           {0.8, 0, 0.2, 0.7},
           {0, 0.76, 1, 0.22}},
          false);
    setFocusProxy(m_canvas);
    m_rows = new TimelineTables(context.loader, *m_tables, *m_find, this);
    m_marks = new MarkList(context.loader, *m_tables, this);
    connectCanvas();
    connectTables();
    m_canvas->setNested(readNested(context.settingsFile));
    connect(m_canvas, &TimelineCanvas::nestedChanged, this,
            [file = context.settingsFile](bool nested) { writeNested(file, nested); });
    m_canvas->viewport()->installEventFilter(this);
}

QWidget* TimelinePage::buildContent() {
    m_below = new Splitter(Qt::Vertical, u"timeline.tables"_s,
                           tr("Divider between the lanes and the tables"), this);
    m_beside = new Splitter(Qt::Horizontal, u"timeline.details"_s,
                            tr("Divider between the lanes and the details"), m_below);
    auto* lanes = new QWidget(m_beside);
    m_pictures = new QVBoxLayout(lanes);
    m_pictures->setContentsMargins(0, 0, 0, 0);
    m_pictures->setSpacing(kGap);
    m_minimap = new Minimap(lanes);
    m_canvas = new TimelineCanvas(lanes);
    m_legend = new Legend(lanes);
    m_panel = new SlicePanel(m_beside);
    m_tables = new TablePanel(m_below);
    m_find = new FindBar(lanes);
    m_pictures->addWidget(m_find);
    m_pictures->addWidget(m_minimap);
    m_pictures->addWidget(m_canvas, 1);
    m_pictures->addWidget(m_legend);
    m_canvas->setMinimumHeight(kLeastLanes);
    m_panel->setMinimumWidth(kNarrowDetails);
    foldTables(true);
    return m_below;
}

void TimelinePage::connectCanvas() {
    connect(m_canvas, &TimelineCanvas::pictureRequested, this, &TimelinePage::askForPicture);
    connect(m_canvas, &TimelineCanvas::depthsRequested, this, &TimelinePage::askForDepths);
    connect(m_canvas, &TimelineCanvas::viewChanged, m_minimap, &Minimap::setView);
    connect(m_canvas, &TimelineCanvas::viewChanged, this, [this](TimeRange view) {
        m_rows->setView(view);
        if (!m_moves) m_follow->setChecked(false);
    });
    m_follow = new QPushButton(tr("Follow"), this);
    m_follow->setCheckable(true);
    connect(m_follow, &QPushButton::toggled, this,
            [this](bool follows) { m_follow->setText(follows ? tr("Following") : tr("Follow")); });
    m_follow->setChecked(true);
    m_follow->setToolTip(tr("Keeps the newest of the run in sight, until you move"));
    connect(m_follow, &QPushButton::clicked, this, [this](bool follows) {
        if (follows && hasRecording()) moveTo(newest(m_canvas->view()));
        m_follow->setChecked(follows);
    });
    pageFrame().addHeaderWidget(m_follow);
    m_follow->hide();
    connect(m_minimap, &Minimap::viewRequested, m_canvas, &TimelineCanvas::setView);
    connect(m_canvas, &TimelineCanvas::rangeSelected, this,
            [this](TimeRange range) { this->selection().selectRange(range); });
    connect(m_canvas, &TimelineCanvas::selectionCleared, this,
            [this] { this->selection().clear(); });
    connect(m_canvas, &TimelineCanvas::sliceSelected, this, &TimelinePage::presentSlice);
    connect(m_canvas, &TimelineCanvas::sliceCleared, this, [this] {
        m_panel->showNothing();
        giveRoom();
    });
    connect(m_canvas, &TimelineCanvas::plotChanged, m_minimap, &Minimap::setPlot);
    connect(m_canvas, &TimelineCanvas::plotChanged, this, &TimelinePage::presentLegend);
    connect(m_panel, &SlicePanel::linkFollowed, m_canvas, [this] { m_canvas->followLink(0); });
    connect(m_panel, &SlicePanel::wayChosen, m_canvas, &TimelineCanvas::followLink);
    connect(m_canvas, &TimelineCanvas::hoverChanged, this, &RecordingPage::hoverChanged);
    connect(m_canvas, &TimelineCanvas::sameCollectiveRequested, this,
            &TimelinePage::goToSameCollective);
    connect(m_canvas, &TimelineCanvas::neighbourRequested, this, &TimelinePage::askForNeighbour);
}

void TimelinePage::connectTables() {
    connect(m_canvas, &TimelineCanvas::markRequested, m_marks, &MarkList::add);
    connect(m_marks, &MarkList::changed, m_canvas, &TimelineCanvas::setMarks);
    connect(m_marks, &MarkList::momentRequested, this, &TimelinePage::centre);
    connect(m_rows, &TimelineTables::nameHighlighted, m_canvas, &TimelineCanvas::highlight);
    connect(m_rows, &TimelineTables::sliceRequested, m_canvas, &TimelineCanvas::selectSlice);
    connect(m_rows, &TimelineTables::hitRequested, m_canvas, &TimelineCanvas::showSlice);
    connect(m_rows, &TimelineTables::tablesWanted, this, [this] { wantTables(true); });
    connect(m_tables, &TablePanel::foldRequested, this,
            [this](bool folded) { wantTables(!folded); });
    connect(m_rows, &TimelineTables::hitsChanged, this, &TimelinePage::hitsChanged);
    connect(m_rows, &TimelineTables::hitsChanged, m_minimap, &Minimap::setHits);
    connect(m_rows, &TimelineTables::findClosed, m_canvas, qOverload<>(&QWidget::setFocus));
    const auto open = [this](const QKeySequence& keys, auto run) {
        auto* shortcut = new QShortcut(keys, this);
        shortcut->setContext(Qt::WidgetWithChildrenShortcut);
        connect(shortcut, &QShortcut::activated, this, run);
    };
    open(QKeySequence::Find, [this] { m_rows->openFind(); });
    open(Qt::Key_J, [this] { jump(true); });
    open(Qt::SHIFT | Qt::Key_J, [this] { jump(false); });
    open(Qt::Key_B, [this] { wantTables(m_tables->isFolded()); });
    open(Qt::Key_F3, [this] { m_rows->goToHit(1); });
    open(Qt::SHIFT | Qt::Key_F3, [this] { m_rows->goToHit(-1); });
    auto* slash = new QShortcut(Qt::Key_Slash, m_canvas);
    slash->setContext(Qt::WidgetShortcut);
    connect(slash, &QShortcut::activated, this, [this] { m_rows->openFind(); });
}

void TimelinePage::moveTo(TimeRange view) {
    m_moves = true;
    m_canvas->setView(view);
    m_moves = false;
}

TimeRange TimelinePage::newest(TimeRange seen) const {
    const TimeRange all = recording().bounds();
    const Duration length = std::min(seen.duration(), all.duration());
    return {all.end - length, all.end};
}

void TimelinePage::centre(Timestamp at) {
    const Duration half{m_canvas->view().duration().ns / 2};
    m_canvas->setView({at - half, at + half});
}

void TimelinePage::jump(bool forward) {
    if (!hasRecording()) return;
    const auto places = landmarks(recording(), m_canvas->marks());
    if (places.empty())
        return Q_EMIT hoverChanged(
            tr("No marks, failures, slow steps or stretches; Ctrl+PgDown goes from "
               "step to step, M sets a mark"));
    const TimeRange view = m_canvas->view();
    const Timestamp middle{view.begin.ns + view.duration().ns / 2};
    // near an end of the recording what was jumped to is not in the middle
    const Timestamp from = m_jumped && m_jumped->view == view ? m_jumped->time : middle;
    const auto isBefore = [](const Landmark& place, Timestamp time) { return place.time < time; };
    const auto found = std::lower_bound(places.begin(), places.end(),
                                        forward ? from + Duration{1} : from, isBefore);
    const bool isNone = found == (forward ? places.end() : places.begin());
    const auto& place =
        isNone ? (forward ? places.back() : places.front()) : (forward ? *found : *(found - 1));
    centre(place.time);
    m_jumped = Jump{place.time, m_canvas->view()};
    Q_EMIT hoverChanged(isNone ? tr("%1; there is no other in this direction").arg(place.text)
                               : place.text);
}

std::vector<Page::KeyNote> TimelinePage::keyNotes() const {
    auto* self = const_cast<TimelinePage*>(this);
    const auto runs = [canvas = m_canvas](TimelineCommand command) {
        return [canvas, command] { canvas->run(command); };
    };
    using enum TimelineCommand;
    return {{tr("W  S"), tr("zoom in, zoom out")},
            {tr("A  D"), tr("move left, right")},
            {tr("Ctrl+wheel"), tr("zoom at the pointer")},
            {tr("Shift+drag"), tr("move")},
            {tr("drag"), tr("select a range")},
            {tr("F"), tr("whole run"), runs(kFit)},
            {tr("Z"), tr("zoom to the selection"), runs(kZoomToSelection)},
            {tr(".  ,"), tr("next, previous on the lane")},
            {tr("Ctrl+Up, Down"), tr("event on the lane above, below")},
            {tr("N  Shift+N"), tr("same collective, next or previous rank")},
            {tr("[  ]  Ctrl+Left, Right"),
             tr("back and forward along an arrow: launch, kernel, backward")},
            {tr("Ctrl+F  /"), tr("find in names and arguments"), [this] { m_rows->openFind(); }},
            {tr("F3  Shift+F3"), tr("next, previous match")},
            {tr("B"), tr("show or hide the tables"),
             [self] { self->wantTables(self->m_tables->isFolded()); }},
            {tr("M"), tr("mark this moment"), runs(kMark)},
            {tr("J"), tr("next mark, failure, slow step or slow stretch"),
             [self] { self->jump(true); }},
            {tr("Shift+J"), tr("the one before"), [self] { self->jump(false); }},
            {tr("E"), tr("all levels of a lane, or the first")},
            {tr("Shift+C"), tr("fold all ranks"), runs(kFoldAll)},
            {tr("Shift+E"), tr("unfold all ranks"), runs(kUnfoldAll)},
            {tr("P"), tr("pin a lane to the top")},
            {tr("H"), tr("hide a lane")},
            {tr("Shift+H"), tr("show hidden lanes"), runs(kShowHidden)},
            {tr("Alt+Up  Alt+Down"), tr("move a lane or a rank")},
            {tr("K"), tr("kinds of a thread nested in one track, or apart"), runs(kKinds)},
            {tr("T"), tr("make a counter taller")},
            {tr("R"), tr("ruler: absolute, relative, step time"), runs(kRulerTime)},
            {tr("Ctrl+P"), tr("filter lanes by text"), runs(kFilter)},
            {tr("Esc"), tr("clear slice and range")}};
}

TimeRange TimelinePage::firstView(const OpenRecording& recording) {
    // a step in the middle: the whole run of many steps shows no structure at first sight
    const auto& steps = recording.summary.steps;
    if (steps.size() < 3) return recording.bounds();
    // of those that there is most of, where some were thinned or left out
    StepIndex middle = steps[steps.size() / 2].step;
    if (const StepDetail detail(recording.summary.detail); !detail.empty()) {
        std::map<CaptureLevel, std::vector<StepIndex>> byLevel;
        for (const StepFacts& step : steps)
            byLevel[detail.of(step.rank, step.step)].push_back(step.step);
        const std::vector<StepIndex>& best = byLevel.rbegin()->second;
        middle = best[best.size() / 2];
    }
    TimeRange view{};
    auto step = std::lower_bound(
        steps.begin(), steps.end(), middle,
        [](const StepFacts& each, StepIndex wanted) { return each.step < wanted; });
    for (; step != steps.end() && step->step == middle; ++step)
        view = view.empty()
                   ? step->range()
                   : TimeRange{std::min(view.begin, step->start), std::max(view.end, step->end)};
    const Duration margin{view.duration().ns / 16};
    return {view.begin - margin, view.end + margin};
}

/// Of what is shown as it is shown.
void TimelinePage::presentLegend() {
    if (!hasRecording()) return;
    const auto& rows = m_canvas->lanes().rows;
    const bool heatMap =
        std::any_of(rows.begin(), rows.end(), [](const LaneRow& row) { return row.thin; });
    m_legend->setEntries(timelineLegend(recording(), heatMap));
    // where the divider stands is the user's, but for what the legend needs
    const int before = m_tables->minimumHeight();
    m_tables->giveRoom();
    if (m_tables->minimumHeight() != before) m_below->setPreferredSize(1, tableHeight());
    // on a low page lanes need the room more; a heat map shows no names, so it keeps the legend
    m_legend->setVisible(heatMap || m_tables->isFolded() || height() >= kLowPage);
}

void TimelinePage::present() {
    const Selection& current = selection().current();
    const bool tooFar = isTooFar(recording(), recording().timeOf(current));
    askForHeadline(tooFar);
    const bool isShown = m_shown == &recording();
    if (!isShown) {
        m_shown = &recording();
        const RecordingPtr shared = shownRecording();
        // one that has grown is looked at where it was
        const bool same = m_shownRun == recording().summary.run.id && !m_canvas->view().empty();
        const TimeRange before = m_canvas->view();
        m_shownRun = recording().summary.run.id;
        if (!same) m_tablesWanted.reset();
        m_minimap->setRecording(shared);
        askForDensity();
        m_canvas->setRecording(shared);
        m_rows->setRecording(shared);
        m_marks->setRecording(shared);
        const Duration later = recording().later;  // than it was shown before
        const bool runs = recording().isRunning() && !recording().isImporting();
        if (!same) m_follow->setChecked(runs);
        m_follow->setVisible(runs);
        const TimeRange kept{before.begin + later, before.end + later};
        moveTo(same && !(runs && m_follow->isChecked()) ? kept
               : same                                   ? newest(kept)
               : current.cutsTime()                     ? recording().timeOf(current)
               : runs                                   ? newest(firstView(recording()))
                                                        : firstView(recording()));
        m_panel->showNothing();
        // a field that one writes in keeps the keys
        if (isVisible() && qobject_cast<QLineEdit*>(QApplication::focusWidget()) == nullptr)
            m_canvas->setFocus();
    }
    if (hasPart() && part().report) m_canvas->setRankFigures(rankFigures(*part().report));
    m_canvas->setRanks(current.ranks);
    const auto selected =
        current.cutsTime() ? std::optional(recording().timeOf(current)) : std::nullopt;
    m_canvas->setSelectedRange(selected);
    if (isShown && selected && !selected->intersects(m_canvas->view()))
        m_canvas->setView(*selected);
    presentLegend();
    m_rows->setTooFar(tooFar);
    m_rows->setSelection(current);
    giveRoom();
    if (isVisible()) m_rows->ask();
}

/// A right click on a slice; elsewhere it is the canvas's.
bool TimelinePage::eventFilter(QObject* watched, QEvent* event) {
    if (watched != m_canvas->viewport() || event->type() != QEvent::ContextMenu || !hasRecording())
        return RecordingPage::eventFilter(watched, event);
    const auto* click = static_cast<QContextMenuEvent*>(event);
    const auto hit = m_canvas->hitAt(click->pos());
    if (!hit) return RecordingPage::eventFilter(watched, event);
    showSliceMenu(*hit, click->globalPos());
    return true;
}

void TimelinePage::showSliceMenu(const TimelineHit& hit, QPoint at) {
    const LaneFacts* lane = recording().lane(hit.key);
    if (lane == nullptr) return;
    const TimeRange range = hit.slice.range;
    const Duration margin{std::max<std::int64_t>(range.duration().ns / 10, 100)};
    const QString name = hit.slice.name;
    const SliceActions actions{[this, range, margin] {
                                   m_canvas->setView({range.begin - margin, range.end + margin});
                               },
                               [this, range] { selection().selectRange(range); },
                               [this, name] { m_rows->find(name); },
                               [this, lane = *lane, name] { m_rows->filterTo(lane, name); }};
    makeSliceMenu(this, sliceDetails(recording(), *lane, hit.slice), *lane, hit.slice, actions)
        ->popup(at);
}

void TimelinePage::showEvent(QShowEvent* event) {
    RecordingPage::showEvent(event);
    if (!hasRecording()) return;
    m_canvas->setFocus();  // its keys work from the first moment
    moveTo(m_canvas->view());
    m_rows->ask();
}

void TimelinePage::resizeEvent(QResizeEvent* event) {
    RecordingPage::resizeEvent(event);
    m_below->setPreferredSize(1, tableHeight());
    m_beside->setPreferredSize(1, width() < kNarrowPage ? kNarrowDetails : 288);
    giveRoom();
    presentLegend();
}

void TimelinePage::giveRoom() {
    m_panel->setVisible(m_canvas->selectedSlice().has_value());
    m_tables->setVisible(height() >= kFlatPage);
    const bool wanted = m_tablesWanted.value_or(selection().current().cutsTime());
    foldTables(!wanted);
}

void TimelinePage::foldTables(bool folded) {
    if (folded == m_tables->isFolded()) return;
    if (folded) {
        m_tables->fold(m_legend);
    } else {
        m_pictures->addWidget(m_legend);
        m_tables->unfold();
        m_rows->ask();
    }
    m_below->setPreferredSize(1, tableHeight());
}

int TimelinePage::tableHeight() const {
    if (m_tables->isFolded()) return m_tables->minimumHeight();
    return (height() < kLowPage ? 5 : 7) * kRow + 4;
}

void TimelinePage::wantTables(bool wanted) {
    m_tablesWanted = wanted;
    giveRoom();
}

bool readNested(const QString& file) {
    return file.isEmpty() || !QSettings(file, QSettings::IniFormat).value(kApart, false).toBool();
}

void writeNested(const QString& file, bool nested) {
    if (!file.isEmpty()) QSettings(file, QSettings::IniFormat).setValue(kApart, !nested);
}

}  // namespace shardscope::desktop
