#include "app/desktop/pages/compare/stack_panel.h"

#include "app/desktop/loading/part_loader.h"
#include "app/desktop/models/flame_data.h"
#include "app/desktop/models/format.h"
#include "app/desktop/pages/compare/compare_model.h"
#include "app/desktop/pages/compare/compare_query.h"
#include "app/desktop/widgets/pictures/flame_graph.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QStringList>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::desktop {
namespace {

using analysis::CallDifference;
using analysis::CallTree;

/// As `compare` judges: less is not a change.
constexpr double kLeastChange = 0.01;
constexpr double kFullChange = 0.5;

QString tr(const char* text) {
    return QCoreApplication::translate("ComparedStacks", text);
}

QString durationText(double ns) {
    return formatDuration({std::llround(ns)});
}

/// -1 to 1, by which a cell is coloured.
float changeOf(const CallDifference::Times& times) {
    if (times.before <= 0) return 1;
    const double change = (times.after - times.before) / times.before;
    if (std::abs(change) < kLeastChange) return 0;
    return static_cast<float>(std::clamp(change / kFullChange, -1.0, 1.0));
}

QString wordOf(std::optional<questions::StackKind> kind) {
    return kind ? QString::fromLatin1(toWord(*kind)) : QString();
}

/// Own times of stacks that one of them has alone.
std::pair<double, double> aloneIn(const CallDifference& difference) {
    std::pair<double, double> alone;
    for (const CallDifference::Times& each : difference.times) {
        if (each.after <= 0) alone.first += each.selfBefore;
        if (each.before <= 0) alone.second += each.selfAfter;
    }
    return alone;
}

QString stepsNote(const questions::StackDifference& difference, const QString& before,
                  const QString& after) {
    if (difference.stepsBefore > 0 && difference.stepsAfter > 0)
        return tr("Time per step and rank, on average over %1 and %2.")
            .arg(formatCount(static_cast<std::int64_t>(difference.stepsBefore)),
                 formatCount(static_cast<std::int64_t>(difference.stepsAfter)));
    if (difference.stepsBefore == difference.stepsAfter)
        return tr("Neither has steps: time of all of each is compared.");
    return tr("%1 has no steps: all of it is compared with one step.")
        .arg(difference.stepsBefore == 0 ? before : after);
}

}  // namespace

using questions::StackKind;

StackPanel::StackPanel(QWidget* parent) : QWidget(parent) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    layout->addWidget(sectionLabel(tr("Stacks, coloured by what changed"), this));
    layout->addWidget(buildControls());
    m_graph = new FlameGraph(this);
    m_graph->setIcicle(true);
    layout->addWidget(m_graph);
    m_zoom = quietLabel({}, this);
    m_note = quietLabel({}, this);
    layout->addWidget(m_zoom);
    layout->addWidget(m_note);
    connect(m_graph, &FlameGraph::hovered, this, &StackPanel::hoverChanged);
    connect(m_graph, &FlameGraph::zoomChanged, this, &StackPanel::noteZoom);
}

QWidget* StackPanel::buildControls() {
    auto* controls = new QWidget(this);
    auto* layout = new QHBoxLayout(controls);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    m_kinds = new QComboBox(controls);
    m_kinds->setAccessibleName(tr("Which stacks are compared"));
    m_kinds->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    connect(m_kinds, &QComboBox::activated, this, [this](int index) {
        Q_EMIT kindWanted(static_cast<StackKind>(m_kinds->itemData(index).toInt()));
    });
    m_width = new QComboBox(controls);
    m_width->setAccessibleName(tr("What the width of cells shows"));
    m_width->setToolTip(
        tr("Stacks of only one recording are visible only with the widths of that "
           "recording."));
    connect(m_width, &QComboBox::activated, this, &StackPanel::present);
    m_search = new QLineEdit(controls);
    m_search->setPlaceholderText(tr("Search names"));
    m_search->setAccessibleName(tr("Search names in the compared stacks"));
    m_search->setMinimumWidth(140);
    m_search->setMaximumWidth(280);
    connect(m_search, &QLineEdit::textChanged, this, &StackPanel::search);
    m_found = quietLabel({}, controls);
    m_found->setWordWrap(false);
    layout->addWidget(m_kinds);
    layout->addWidget(m_width);
    layout->addWidget(m_search, 1);
    layout->addWidget(m_found);
    layout->addStretch(0);
    return controls;
}

void StackPanel::setStacks(const ComparedStacksPtr& stacks) {
    m_stacks = stacks;
    const QSignalBlocker quiet(m_kinds);
    m_kinds->clear();
    for (const StackKind kind : m_stacks->kinds) {
        QString word = QCoreApplication::translate("StackKind", toWord(kind));
        word[0] = word[0].toUpper();
        m_kinds->addItem(word, static_cast<int>(kind));
        if (kind == m_stacks->kind) m_kinds->setCurrentIndex(m_kinds->count() - 1);
    }
    m_kinds->setEnabled(m_kinds->count() > 1);
    nameWidths(m_stacks->before, m_stacks->after);
    present();
}

void StackPanel::nameWidths(const QString& before, const QString& after) {
    const QSignalBlocker quiet(m_width);
    const int chosen = std::max(0, m_width->currentIndex());
    m_width->clear();
    m_width->addItems({tr("Width by %1").arg(after), tr("Width by %1").arg(before)});
    m_width->setCurrentIndex(chosen);
}

void StackPanel::showNothing(const QString& why) {
    m_stacks.reset();
    m_graph->setData(std::make_shared<const FlameData>(), {});
    m_zoom->hide();
    m_note->setText(why);
}

void StackPanel::present() {
    if (!m_stacks) return;
    const auto& cells =
        m_stacks->by(m_width->currentIndex() == 0 ? FlameWidth::kJudged : FlameWidth::kBaseline);
    m_graph->setData(cells ? cells : std::make_shared<const FlameData>(),
                     tr("%1, compared").arg(m_kinds->currentText()));
    m_note->setText(m_stacks->note);
    search();
    noteZoom();
}

void StackPanel::search() {
    m_graph->setSearch(m_search->text().trimmed());
    const bool asked = !m_search->text().trimmed().isEmpty();
    m_found->setText(asked ? foundText(m_graph->found()) : QString());
}

void StackPanel::noteZoom() {
    const FlameData& shown = m_graph->shown();
    m_zoom->setVisible(m_stacks != nullptr);
    if (shown.empty())
        return m_zoom->setText(
            tr("Nothing of this kind ran in the recording that sets the widths, or it was not "
               "recorded."));
    QString text = flameText(shown, m_graph->zoomed());
    text += m_graph->zoomed() > 0 ? tr(". Backspace or Esc: out.")
                                  : tr(". ▲ red: more than in %1, ▼ green: less, full colour from "
                                       "±50 % on; not compared with noise.")
                                        .arg(m_stacks->before);
    if (m_graph->hiddenRows() > 0)
        text += tr(" %1 deeper rows: zoom in for them.").arg(m_graph->hiddenRows());
    m_zoom->setText(text);
}

void StackPanel::focusSearch() {
    m_search->setFocus(Qt::ShortcutFocusReason);
    m_search->selectAll();
}

FlameData differenceFlame(const CallDifference& difference, FlameWidth width,
                          const QString& whole) {
    std::vector<FlamePair> pairs;
    const auto widthOf = [&](CallTree::Node node) {
        const CallDifference::Times& times = difference.times[node];
        return width == FlameWidth::kJudged ? times.after : times.before;
    };
    FlameData data =
        layOutFlame(difference.tree, whole, widthOf, [&](CallTree::Node node, FlameCell& cell) {
            const CallDifference::Times& times = difference.times[node];
            pairs.push_back({times.before, times.after});
            if (node != CallTree::kRoot) cell.change = changeOf(times);
        });
    data.pairs = std::move(pairs);
    return data;
}

QString differenceNote(const questions::StackDifference& difference, std::size_t recordings) {
    const QString what = wordOf(difference.kind);
    if (!difference.kind) return tr("Neither recording has stacks of what ran.");
    const QString before = letterOf(0), after = letterOf(recordings - 1);
    QStringList parts{stepsNote(difference, before, after)};
    if (recordings > 2) parts << tr("Of %1 the first is taken.").arg(baselineName(recordings));
    if (difference.lanesBefore == 0)
        parts << tr("%1 recorded no %2 here.").arg(before, what);
    else if (difference.lanesAfter == 0)
        parts << tr("%1 recorded no %2 here.").arg(after, what);
    const auto [gone, added] = aloneIn(difference.stacks);
    if (gone > 0) parts << tr("In stacks of %1 alone: %2.").arg(before, durationText(gone));
    if (added > 0) parts << tr("In stacks of %1 alone: %2.").arg(after, durationText(added));
    return parts.join(u' ');
}

Result<ComparedStacksPtr> readComparedStacks(const OtherRecordings::Readers& readers,
                                             const Selection& selection,
                                             std::optional<questions::StackKind> wanted) {
    const auto read = questions::readStackDifference(*readers.front(), *readers.back(),
                                                     askedSelection(selection), wanted);
    if (!read) return failure(read);
    auto made = std::make_shared<ComparedStacks>();
    made->kinds = read->kinds;
    made->kind = read->kind;
    made->note = differenceNote(*read, readers.size());
    made->before = letterOf(0);
    made->after = letterOf(readers.size() - 1);
    if (!read->kind) return ComparedStacksPtr(std::move(made));
    const QString whole = tr("all %1").arg(wordOf(read->kind));
    made->byJudged = std::make_shared<const FlameData>(
        differenceFlame(read->stacks, FlameWidth::kJudged, whole));
    made->byBaseline = std::make_shared<const FlameData>(
        differenceFlame(read->stacks, FlameWidth::kBaseline, whole));
    return ComparedStacksPtr(std::move(made));
}

}  // namespace shardscope::desktop
