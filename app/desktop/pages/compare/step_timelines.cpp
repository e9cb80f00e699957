#include "app/desktop/pages/compare/step_timelines.h"

#include "app/desktop/loading/load_recording.h"
#include "app/desktop/models/format.h"
#include "app/desktop/pages/compare/step_bridge.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/pages/timeline/canvas/timeline_legend.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/plain_layout.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

namespace shardscope::desktop {
namespace {

constexpr std::array<std::size_t, 2> kSides{0, 1};
/// Each side has a place after these.
constexpr int kRuns = 0, kPictures = 1, kDepths = 3, kNeighbours = 5;
constexpr int kLeastHeight = 132, kMostHeight = 340;

/// Of what is shown, so much before the first step and after the last.
constexpr std::int64_t kMargins = 48;

TimeRange moved(TimeRange range, Duration by) {
    return {range.begin + by, range.end + by};
}

}  // namespace

StepTimelines::StepTimelines(QWidget* parent) : QWidget(parent) {
    auto* layout = plainLayout(this);
    layout->addWidget(sectionLabel(tr("Steps of both, on one time axis"), this));
    buildControls();
    layout->addWidget(m_controls);
    m_full = buildCanvases();
    layout->addWidget(m_full);
    m_note = quietLabel({}, this);
    layout->addWidget(m_note);
}

void StepTimelines::buildControls() {
    m_controls = new QWidget(this);
    auto* layout = new QHBoxLayout(m_controls);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    m_ranks = new QComboBox(m_controls);
    m_ranks->setAccessibleName(tr("Rank whose lanes are compared"));
    m_ranks->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    connect(m_ranks, &QComboBox::activated, this, &StepTimelines::presentSteps);
    const auto box = [this](const QString& prefix, const QString& name) {
        auto* made = new QSpinBox(m_controls);
        made->setPrefix(prefix);
        made->setAccessibleName(name);
        made->setKeyboardTracking(false);
        made->setButtonSymbols(QAbstractSpinBox::NoButtons);
        made->setFixedWidth(108);
        return made;
    };
    m_from = box(tr("steps "), tr("First step that is compared"));
    m_to = box(tr("to "), tr("Last step that is compared"));
    connect(m_from, &QSpinBox::valueChanged, this, [this](int from) {
        chooseSteps({StepIndex{from}, StepIndex{std::max(from, m_to->value())}});
    });
    connect(m_to, &QSpinBox::valueChanged, this, [this](int to) {
        chooseSteps({StepIndex{std::min(to, m_from->value())}, StepIndex{to}});
    });
    m_previous = new QPushButton(tr("Previous"), m_controls);
    m_previous->setAccessibleName(tr("Steps before these"));
    m_next = new QPushButton(tr("Next"), m_controls);
    m_next->setAccessibleName(tr("Steps after these"));
    connect(m_previous, &QPushButton::clicked, this, [this] { turn(false); });
    connect(m_next, &QPushButton::clicked, this, [this] { turn(true); });
    for (QWidget* each : {static_cast<QWidget*>(m_ranks), static_cast<QWidget*>(m_from),
                          static_cast<QWidget*>(m_to), static_cast<QWidget*>(m_previous),
                          static_cast<QWidget*>(m_next)})
        layout->addWidget(each);
    layout->addStretch();
}

QWidget* StepTimelines::buildCanvases() {
    auto* full = new QWidget(this);
    auto* layout = plainLayout(full, 0);
    for (TimelineCanvas*& canvas : m_canvases) {
        canvas = new TimelineCanvas(full);
        canvas->setNested(true);
        canvas->setFixedHeight(kLeastHeight);
    }
    m_bridge = new StepBridge(full);
    m_legend = new Legend(full);
    m_part = quietLabel({}, full);
    layout->addWidget(m_canvases[0]);
    layout->addWidget(m_bridge);
    layout->addWidget(m_canvases[1]);
    layout->addSpacing(kGapSmall);
    layout->addWidget(m_part);
    layout->addWidget(m_legend);
    connect(m_bridge, &StepBridge::hovered, this, &StepTimelines::hoverChanged);
    for (const std::size_t side : kSides) connectCanvas(side);
    return full;
}

void StepTimelines::connectCanvas(std::size_t side) {
    TimelineCanvas* canvas = m_canvases[side];
    TimelineCanvas* other = m_canvases[1 - side];
    connect(canvas, &TimelineCanvas::pictureRequested, this,
            [this, side, canvas](const TimelineQuery& query) {
                askAt(
                    side, kPictures,
                    [query](storage::RecordingReader& reader, const OpenRecording& run) {
                        return loadTimeline(reader, run, query, {});
                    },
                    [canvas](const TimelineFramePtr& frame) { canvas->setFrame(frame); });
            });
    connect(canvas, &TimelineCanvas::depthsRequested, this,
            [this, side, canvas](const std::vector<std::vector<LaneAddress>>& rows) {
                askAt(
                    side, kDepths,
                    [rows](storage::RecordingReader& reader, const OpenRecording& run) {
                        return loadLaneDepths(reader, run, rows, {});
                    },
                    [canvas](const LaneDepths& depths) { canvas->setDepths(depths); });
            });
    connect(canvas, &TimelineCanvas::neighbourRequested, this, [this, side, canvas](bool forward) {
        const auto& hit = canvas->selectedSlice();
        if (!hit) return;
        const NeighbourQuery query{hit->key, hit->slice.range, hit->slice.depth, forward};
        askAt(
            side, kNeighbours,
            [query](storage::RecordingReader& reader, const OpenRecording& run) {
                return loadNeighbour(reader, run, query, {});
            },
            [canvas, key = query.key](const std::optional<SliceView>& slice) {
                if (slice) canvas->selectSlice(key, *slice);
            });
    });
    connect(canvas, &TimelineCanvas::viewChanged, this, [this, side] { follow(side); });
    connect(canvas, &TimelineCanvas::plotChanged, this, &StepTimelines::alignPlots);
    connect(canvas, &TimelineCanvas::laneOptionsChanged, other, [this, canvas, other] {
        if (std::exchange(m_follows, true)) return;
        other->takeLaneOptions(canvas->laneOptions());
        m_follows = false;
    });
    connect(canvas, &TimelineCanvas::rangeSelected, canvas, &TimelineCanvas::setView);
    connect(canvas, &TimelineCanvas::hoverChanged, this, [this, side] { point(side); });
    connect(canvas, &TimelineCanvas::sliceSelected, this, [this, side, other] {
        other->clearSlice();
        point(side);
    });
    connect(canvas, &TimelineCanvas::sliceCleared, this, [this, side] { point(side); });
}

template <class Work, class Use>
void StepTimelines::ask(int kind, const QStringList& files, Work work, Use use) {
    m_open.insert(kind);
    m_readers.ask(kind, files, std::move(work), [this, kind, use](const auto& answer) {
        m_open.erase(kind);
        if (!answer) return say(fromUtf8(answer.error().message));
        use(*answer);
    });
}

template <class Work, class Use>
void StepTimelines::askAt(std::size_t side, int firstKind, Work work, Use use) {
    if (!m_runs[side]) return;
    ask(
        firstKind + static_cast<int>(side), {m_shown.files.value(static_cast<qsizetype>(side))},
        [work, run = m_runs[side]](const OtherRecordings::Readers& readers) {
            return work(*readers.front(), *run);
        },
        use);
}

void StepTimelines::show(const TimelinePair& pair) {
    forget();
    const bool isOther = pair.files != m_shown.files;
    const bool asksOther = pair.steps != m_shown.steps || pair.rank != m_shown.rank;
    m_shown = pair;
    if (isOther || asksOther) m_match.reset();
    if (isOther) m_runs = {};
    ask(
        kRuns, pair.files,
        [files = pair.files](const OtherRecordings::Readers& readers) -> Result<Runs> {
            Runs runs;
            for (const std::size_t side : kSides) {
                auto read =
                    sketchRecording(*readers[side], files[static_cast<qsizetype>(side)], false);
                if (!read) return failure(read);
                runs[side] = std::move(*read);
            }
            return runs;
        },
        [this](const Runs& runs) { take(runs); });
}

void StepTimelines::forget() {
    for (const int kind : std::exchange(m_open, {})) m_readers.forget(kind);
}

void StepTimelines::say(const QString& why) {
    m_controls->hide();
    m_full->hide();
    m_note->setText(why);
}

void StepTimelines::take(const Runs& runs) {
    m_runs = runs;
    for (const std::size_t side : kSides) {
        m_canvases[side]->setRecording(runs[side]);
        // the ranks of a large run begin folded; here is one at a time
        LaneLayoutOptions open = m_canvases[side]->laneOptions();
        open.collapsed.clear();
        m_canvases[side]->takeLaneOptions(open);
        m_canvases[side]->setSpokenName(tr("Timeline of %1").arg(letter(side)));
    }
    m_legend->setEntries(timelineLegend(*runs[0], false));
    presentRanks();
}

RankId StepTimelines::rank() const {
    return RankId{m_ranks->currentData().value<decltype(RankId::value)>()};
}

void StepTimelines::presentRanks() {
    const auto ranks = ranksOfBoth(m_runs[0]->summary, m_runs[1]->summary);
    if (ranks.empty()) return say(tr("They have no rank in common."));
    const RankId before = m_shown.rank ? *m_shown.rank : m_match ? rank() : ranks.front();
    const QSignalBlocker quiet(m_ranks);
    m_ranks->clear();
    for (const RankId each : ranks) m_ranks->addItem(tr("Rank %1").arg(each.value), each.value);
    m_ranks->setCurrentIndex(std::max(0, m_ranks->findData(before.value)));
    m_ranks->setEnabled(ranks.size() > 1);
    presentSteps();
}

void StepTimelines::presentSteps() {
    if (!m_runs[0]) return;  // others are being read
    const bool keeps = m_match.has_value();
    const StepSpan before{StepIndex{m_from->value()}, StepIndex{m_to->value()}};
    m_match = matchSteps(m_runs[0]->summary, m_runs[1]->summary, rank());
    if (!m_match) return say(tr("One of them has no steps: there is nothing to lay side by side."));
    m_controls->show();
    m_full->show();
    for (TimelineCanvas* canvas : m_canvases) canvas->setRanks({rank()});
    {
        const QSignalBlocker quietFrom(m_from), quietTo(m_to);
        for (QSpinBox* box : {m_from, m_to})
            box->setRange(m_match->steps.first.value, m_match->steps.last.value);
    }
    chooseSteps(keeps ? before : m_shown.steps.value_or(m_match->usual));
}

void StepTimelines::chooseSteps(StepSpan steps) {
    if (!m_match) return;
    const StepSpan& all = m_match->steps;
    steps = {std::clamp(steps.first, all.first, all.last),
             std::clamp(steps.last, all.first, all.last)};
    const QSignalBlocker quietFrom(m_from), quietTo(m_to);
    m_from->setValue(steps.first.value);
    m_to->setValue(steps.last.value);
    m_previous->setEnabled(steps.first > all.first);
    m_next->setEnabled(steps.last < all.last);
    m_pairs = pairSteps(m_runs[0]->summary, m_runs[1]->summary, rank(), steps, m_match->shift);
    presentStretch();
}

void StepTimelines::turn(bool forward) {
    if (!m_match) return;
    const std::int32_t by = m_to->value() - m_from->value() + 1;
    const StepSpan& all = m_match->steps;
    // as many as before where there are
    const std::int32_t first = std::clamp(m_from->value() + (forward ? by : -by), all.first.value,
                                          std::max(all.first.value, all.last.value - by + 1));
    chooseSteps({StepIndex{first}, StepIndex{first + by - 1}});
}

void StepTimelines::presentStretch() {
    const Duration margin{std::max<std::int64_t>(1, m_pairs.longest.ns / kMargins)};
    m_bridge->setPairs(m_pairs.pairs, letter(0), letter(1));
    m_follows = true;
    for (const std::size_t side : kSides) {
        const Timestamp origin = originOf(side);
        const TimeRange all{origin - margin, origin + m_pairs.longest + margin};
        m_canvases[side]->setStretch(origin, all);
        m_canvases[side]->setView(all);
    }
    m_follows = false;
    alignPlots();
    QStringList notes{sumText(m_pairs, letter(0), letter(1))};
    if (m_match->shift != 0)
        notes << tr("No step number is in both: step %1 of %2 stands below step %3 of %4.")
                     .arg(m_match->steps.first.value + m_match->shift)
                     .arg(letter(1))
                     .arg(m_match->steps.first.value)
                     .arg(letter(0));
    notes << tr("W, S, A and D zoom and move both, F shows all of these steps; of rank %1 alone.")
                 .arg(rank().value);
    m_note->setText(notes.join(u' '));
    point(0);
}

void StepTimelines::follow(std::size_t side) {
    if (std::exchange(m_follows, true)) return;
    const Duration by = originOf(1 - side) - originOf(side);
    m_canvases[1 - side]->setView(moved(m_canvases[side]->view(), by));
    m_follows = false;
    alignPlots();
}

/// One axis for both: as wide names, as much room.
void StepTimelines::alignPlots() {
    int label = 0, wanted = kLeastHeight;
    for (const TimelineCanvas* canvas : m_canvases) {
        label = std::max(label, canvas->fittedLabelWidth());
        wanted = std::max(wanted, canvas->lanes().height + kRulerHeight);
    }
    const int height = std::min(wanted, kMostHeight);
    for (TimelineCanvas* canvas : m_canvases) {
        canvas->setLeastLabelWidth(label);
        canvas->setVerticalScrollBarPolicy(wanted > kMostHeight ? Qt::ScrollBarAlwaysOn
                                                                : Qt::ScrollBarAlwaysOff);
        if (canvas->height() != height) canvas->setFixedHeight(height);
    }
    const TimelineCanvas& above = *m_canvases[0];
    const TimeRange view = moved(above.view(), Timestamp{} - m_pairs.baselineOrigin);
    m_bridge->setAxis(label, {view, std::max(1.0, double(above.viewport()->width() - label))});
}

std::optional<TimelineHit> StepTimelines::sameOf(std::size_t side, const TimelineHit& part) const {
    const TimelineFramePtr& frame = m_canvases[1 - side]->frame();
    if (!frame) return std::nullopt;
    const auto absolute = [this](std::size_t of, TimeRange range) {
        return moved(range, originOf(of) - Timestamp{});
    };
    for (const StepPair& pair : m_pairs.pairs) {
        const auto &own = side == 0 ? pair.baseline : pair.judged,
                   &its = side == 0 ? pair.judged : pair.baseline;
        if (!own || !its) continue;
        const TimeRange step = absolute(side, *own);
        if (!step.contains(part.slice.range.begin)) continue;
        return samePart(part, step, *frame, absolute(1 - side, *its));
    }
    return std::nullopt;
}

/// At what is under the pointer of `side`, else at what was chosen there.
void StepTimelines::point(std::size_t side) {
    TimelineCanvas& own = *m_canvases[side];
    TimelineCanvas& other = *m_canvases[1 - side];
    const auto time = own.pointedTime();
    const auto& part = own.hoveredSlice() ? own.hoveredSlice() : own.selectedSlice();
    const auto same = part ? sameOf(side, *part) : std::nullopt;
    const Duration by = originOf(1 - side) - originOf(side);
    other.setShadow(time ? std::optional(*time + by) : std::nullopt, same);
    own.setShadow(std::nullopt, std::nullopt);
    const QString text = part ? partText(*part, same, side == 1, letter(0), letter(1)) : QString();
    m_part->setText(text.isEmpty() ? tr("Point at a part, or step to one with Ctrl+Down, comma and "
                                        "period: it is named in both.")
                                   : text);
    Q_EMIT hoverChanged(own.hoveredSlice() ? text : QString());
}

void StepTimelines::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    // while hidden they ask for nothing
    if (m_match) presentStretch();
}

}  // namespace shardscope::desktop
