#include "app/desktop/pages/operators/flame_panel.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/operators/operators_model.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/pictures/flame_graph.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QMenu>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <initializer_list>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using questions::StackKind;

constexpr int kCallsHeight = 28 * 5 + 2;

/// What a caller's or callee's row is called, for who clicks it; empty: not to be walked to.
QStringList namesOf(const analysis::CallTree& tree, const std::vector<analysis::CallEdge>& edges) {
    QStringList names;
    for (const analysis::CallEdge& edge : edges) names << fromUtf8(tree.names()[edge.name]);
    return names;
}

/// Here the search stands below the choices; more than they need beside each other.
constexpr int kNarrow = 800;

}  // namespace

FlamePanel::FlamePanel(RecordingLoader& loader, QWidget* parent)
    : QWidget(parent),
      m_stacks(loader, Urgency::kPicture),
      m_shape(loader, Urgency::kSlice),
      m_calls(loader, Urgency::kTable) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    layout->addWidget(sectionLabel(tr("Stacks"), this));
    layout->addWidget(buildControls());
    m_graph = new FlameGraph(this);
    layout->addWidget(m_graph);
    m_note = quietLabel({}, this);
    layout->addWidget(m_note);
    layout->addWidget(buildCalls());
    connect(m_graph, &FlameGraph::hovered, this, &FlamePanel::hoverChanged);
    connect(m_graph, &FlameGraph::cellPicked, this, &FlamePanel::pickCell);
    connect(m_graph, &FlameGraph::zoomChanged, this, &FlamePanel::noteZoom);
    connect(m_graph, &FlameGraph::menuOpens, this, [this](QMenu* menu, std::size_t cell) {
        if (m_graph->shown().cells[cell].count > 0) fillMenu(menu, m_graph->shown().nameOf(cell));
    });
}

QWidget* FlamePanel::buildControls() {
    auto* controls = new QWidget(this);
    m_controls = new QBoxLayout(QBoxLayout::LeftToRight, controls);
    m_controls->setContentsMargins(0, 0, 0, 0);
    m_controls->setSpacing(kGap);
    m_kinds = new QComboBox(controls);
    m_kinds->setAccessibleName(tr("Which stacks are shown"));
    connect(m_kinds, &QComboBox::activated, this, [this](int index) {
        m_kind = static_cast<StackKind>(m_kinds->itemData(index).toInt());
        read();
    });
    m_kinds->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_lanes = new QComboBox(controls);
    m_lanes->addItems({tr("Merged over lanes"), tr("By lane")});
    m_lanes->setAccessibleName(tr("Lanes together or apart"));
    m_direction = new QComboBox(controls);
    m_direction->addItems({tr("Callees outwards"), tr("Callers outwards (inverted)")});
    m_direction->setAccessibleName(tr("Direction of the stacks"));
    for (QComboBox* box : {m_lanes, m_direction})
        connect(box, &QComboBox::activated, this, &FlamePanel::reshape);
    m_icicle = new QCheckBox(tr("Icicle"), controls);
    m_icicle->setToolTip(tr("The whole at the top, what ran within it below."));
    m_icicle->setChecked(true);
    connect(m_icicle, &QCheckBox::toggled, this,
            [this](bool icicle) { m_graph->setIcicle(icicle); });
    m_search = new QLineEdit(controls);
    m_search->setPlaceholderText(tr("Search names"));
    m_search->setAccessibleName(tr("Search names in the stacks"));
    m_search->setMinimumWidth(140);
    m_search->setMaximumWidth(280);
    connect(m_search, &QLineEdit::textChanged, this, &FlamePanel::search);
    m_found = quietLabel({}, controls);
    m_found->setWordWrap(false);
    auto* choices = new QHBoxLayout;
    choices->setSpacing(kGap);
    for (QWidget* each : std::initializer_list<QWidget*>{m_kinds, m_lanes, m_direction, m_icicle})
        choices->addWidget(each);
    choices->addStretch();
    auto* names = new QHBoxLayout;
    names->setSpacing(kGap);
    names->addWidget(m_search, 1);
    names->addWidget(m_found);
    names->addStretch(0);
    m_controls->addLayout(choices);
    m_controls->addLayout(names, 1);
    return controls;
}

void FlamePanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    m_controls->setDirection(width() < kNarrow ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
}

DataTable* FlamePanel::buildCallTable(const QString& title, QWidget* parent) {
    auto* table = new DataTable(title, parent);
    table->setFixedHeight(kCallsHeight);
    return table;
}

QWidget* FlamePanel::buildCalls() {
    m_callsBlock = new QWidget(this);
    auto* layout = new QVBoxLayout(m_callsBlock);
    layout->setContentsMargins(0, kGap, 0, 0);
    layout->setSpacing(kGap);
    m_callsTitle = sectionLabel({}, m_callsBlock);
    layout->addWidget(m_callsTitle);
    auto* row = new QHBoxLayout;
    row->setSpacing(32);
    m_callers = buildCallTable(tr("Callers, most time first"), m_callsBlock);
    m_callees = buildCallTable(tr("Callees, most time first"), m_callsBlock);
    row->addWidget(m_callers);
    row->addWidget(m_callees);
    layout->addLayout(row);
    const auto walk = [this](const QStringList& names, int place) {
        const QString name = names.value(place);
        if (!name.isEmpty()) showName(name, {});
    };
    connect(m_callers, &DataTable::rowActivated, this,
            [this, walk](int place) { walk(m_callerNames, place); });
    connect(m_callees, &DataTable::rowActivated, this,
            [this, walk](int place) { walk(m_calleeNames, place); });
    connect(m_callers, &DataTable::clicked, this, [this, walk](const QModelIndex& at) {
        walk(m_callerNames, m_callers->table()->sourceRow(at.row()));
    });
    connect(m_callees, &DataTable::clicked, this, [this, walk](const QModelIndex& at) {
        walk(m_calleeNames, m_callees->table()->sourceRow(at.row()));
    });
    m_callsBlock->hide();
    return m_callsBlock;
}

void FlamePanel::setPart(const PartPtr& part) {
    if (m_part == part) return;
    if (m_part && m_part->recording->path != part->recording->path) showNothing();
    m_part = part;
    read();
}

void FlamePanel::showNothing() {
    m_stacks.forget();
    m_shape.forget();
    m_calls.forget();
    m_part.reset();
    m_frame.reset();
    m_kind.reset();
    m_name.clear();
    m_search->clear();
    m_callsBlock->hide();
    m_kinds->clear();
    m_graph->setData(std::make_shared<const FlameData>(), {});
    m_note->clear();
}

void FlamePanel::read() {
    if (!m_part) return;
    m_note->setText(tr("Reading stacks…"));
    m_stacks.ask(
        [part = m_part, kind = m_kind](auto& reader, const auto&, const auto& generation) {
            return loadStacks(reader, part, kind, generation);
        },
        [this](const StacksFramePtr& frame) { present(frame); });
}

void FlamePanel::present(const StacksFramePtr& frame) {
    m_frame = frame;
    presentKinds();
    reshape();
    readCalls();
}

void FlamePanel::presentKinds() {
    const QSignalBlocker quiet(m_kinds);
    m_kinds->clear();
    for (const StackKind kind : m_frame->kinds) {
        QString word = QCoreApplication::translate("StackKind", toWord(kind));
        word[0] = word[0].toUpper();
        m_kinds->addItem(word, static_cast<int>(kind));
        if (kind == m_frame->kind) m_kinds->setCurrentIndex(m_kinds->count() - 1);
    }
    m_kinds->setEnabled(m_kinds->count() > 1);
}

void FlamePanel::reshape() {
    if (!m_frame) return;
    const FlameShape shape{m_lanes->currentIndex() == 1, m_direction->currentIndex() == 1};
    using Shaped = std::shared_ptr<const FlameData>;
    m_shape.ask(
        [frame = m_frame, shape](auto&, const auto&, const auto&) -> Result<Shaped> {
            return flameOf(*frame, shape);
        },
        [this](const Shaped& cells) {
            m_graph->setData(cells, m_kinds->currentText());
            search();
            noteZoom();
            Q_EMIT framePresented();
        });
}

void FlamePanel::search() {
    m_graph->setIcicle(m_icicle->isChecked());
    m_graph->setSearch(m_search->text().trimmed());
    const bool asked = !m_search->text().trimmed().isEmpty();
    m_found->setText(asked ? foundText(m_graph->found()) : QString());
}

void FlamePanel::noteZoom() {
    const FlameData& shown = m_graph->shown();
    if (!m_frame) return;
    if (shown.empty())
        return m_note->setText(
            tr("Nothing of this kind ran in the selection, or it was not recorded."));
    QString note = m_graph->zoomed() > 0
                       ? flameText(shown, m_graph->zoomed()) + tr(". Backspace or Esc: out.")
                       : tr("%1 on %2. Click: zoom in; Ctrl+wheel, W, S: zoom; "
                            "A, D or a drag: move.")
                             .arg(formatDuration({static_cast<std::int64_t>(shown.whole())}),
                                  m_frame->stacks.lanes == 1
                                      ? tr("one lane")
                                      : tr("%1 lanes together")
                                            .arg(formatCount(
                                                static_cast<std::int64_t>(m_frame->stacks.lanes))));
    if (m_graph->hiddenRows() > 0)
        note += tr(" %1 deeper rows: zoom in for them.").arg(m_graph->hiddenRows());
    m_note->setText(note);
}

void FlamePanel::pickCell(std::size_t cell) {
    if (cell == 0) return;
    m_name = m_graph->shown().nameOf(cell);
    readCalls();
}

void FlamePanel::showName(const QString& name, const std::vector<StackKind>& kinds) {
    m_name = name;
    const bool isOther = !kinds.empty() && m_frame && m_frame->kind &&
                         std::find(kinds.begin(), kinds.end(), *m_frame->kind) == kinds.end();
    if (isOther) {
        m_kind = kinds.front();
        return read();
    }
    readCalls();
}

void FlamePanel::focusSearch() {
    m_search->setFocus(Qt::ShortcutFocusReason);
    m_search->selectAll();
}

void FlamePanel::readCalls() {
    if (!m_frame || m_frame->stacks.merged.empty()) return m_callsBlock->hide();
    m_calls.ask(
        [frame = m_frame, name = m_name](auto&, const auto&, const auto&) -> Result<NamedCalls> {
            return callsIn(*frame, name);
        },
        [this, frame = m_frame](const NamedCalls& found) { presentCalls(*frame, found); });
}

void FlamePanel::presentCalls(const StacksFrame& frame, const NamedCalls& found) {
    const analysis::CallTree& tree = frame.stacks.merged;
    const analysis::CallsOf& calls = found.calls;
    m_name = found.name;
    m_callsBlock->show();
    m_callerNames = namesOf(tree, calls.callers);
    m_calleeNames = QStringList{QString()} + namesOf(tree, calls.callees);
    m_callsTitle->setText(tr("%1: total %2, self %3, %4 times")
                              .arg(breakable(m_name), formatDuration(calls.total),
                                   formatDuration(calls.self), formatCount(calls.count)));
    m_callers->setTable(edgeColumns(tr("called within")), edgeRows(tree, calls, calls.callers));
    TableRows rows = edgeRows(tree, calls, calls.callees);
    rows.insert(rows.begin(), ownRow(calls));
    m_callees->setTable(edgeColumns(tr("ran within it")), std::move(rows));
}

void FlamePanel::fillMenu(QMenu* menu, const QString& name) {
    if (!m_frame || !m_frame->kind) return;
    const std::vector<StackKind> kinds{*m_frame->kind};
    menu->addSeparator();
    menu->addAction(tr("Show the longest on the timeline"), this,
                    [this, name, kinds] { Q_EMIT occurrenceWanted(name, kinds, true); });
    menu->addAction(tr("Show the first on the timeline"), this,
                    [this, name, kinds] { Q_EMIT occurrenceWanted(name, kinds, false); });
    menu->addAction(tr("Search for this name"), this, [this, name] { m_search->setText(name); });
}

}  // namespace shardscope::desktop
