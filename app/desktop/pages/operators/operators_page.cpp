#include "app/desktop/pages/operators/operators_page.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/operators/flame_panel.h"
#include "app/desktop/pages/operators/operators_model.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "storage/model/rank_facts.h"

#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kMostRowsSeen = 12;  ///< the others scroll
/// Around one that is shown on the timeline, of its length, on either side.
constexpr std::int64_t kAround = 2;

constexpr int kChartHeight = 224;
constexpr double kNanoseconds = 1e9;

}  // namespace

PageEntry OperatorsPage::entry() {
    return {page_ids::kOperators, u"operators"_s, tr("Operators"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new OperatorsPage(context, parent);
            }};
}

OperatorsPage::OperatorsPage(PageContext& context, QWidget* parent)
    : RecordingPage(context, parent),
      m_work(context.loader, Urgency::kTable),
      m_occurrence(context.loader, Urgency::kTable) {
    m_flame = new FlamePanel(context.loader, this);
    connect(m_flame, &FlamePanel::hoverChanged, this, &Page::hoverChanged);
    connect(m_flame, &FlamePanel::occurrenceWanted, this, &OperatorsPage::showOccurrence);
    connect(&context.loader, &RecordingLoader::sketched, this, [this] {
        m_asked.reset();
        m_frame.reset();
        m_work.forget();
        m_occurrence.forget();
        m_flame->showNothing();
    });
    setUp(buildContent(), entry().icon, tr("What ran, and for how long?"),
          tr("Open a recording or start a run with capture level full: this page then shows its "
             "operators and kernels, within what they ran, and how they were launched."),
          {{0, 0.02, 1, 0.4}, {0, 0.46, 1, 0.3}, {0, 0.8, 0.48, 0.18}, {0.52, 0.8, 0.48, 0.18}},
          true);
}

std::vector<Page::KeyNote> OperatorsPage::keyNotes() const {
    return {
        {tr("W, S"), tr("in the stacks: zoom in, out")},
        {tr("A, D"), tr("in the stacks: move left, right")},
        {tr("Arrows, Enter"), tr("in the stacks: from cell to cell, zoom to it")},
        {tr("Backspace, Esc"), tr("in the stacks: zoom out")},
        {tr("Home"), tr("in the stacks: show everything")},
        {tr("Ctrl+F  /"), tr("search names in the stacks"), [this] { m_flame->focusSearch(); }}};
}

void OperatorsPage::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Slash || event->matches(QKeySequence::Find))
        return m_flame->focusSearch();
    RecordingPage::keyPressEvent(event);
}

QWidget* OperatorsPage::buildContent() {
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGapGroup);
    layout->addWidget(m_flame);
    layout->addWidget(buildTables(content));
    m_launches = new LaunchPanel(content);
    connect(m_launches, &LaunchPanel::rangeSelected, this,
            [this](TimeRange range) { this->selection().selectRange(range); });
    layout->addWidget(m_launches);
    layout->addStretch();
    return content;
}

QWidget* OperatorsPage::buildTables(QWidget* parent) {
    auto* block = new QWidget(parent);
    auto* layout = new QVBoxLayout(block);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    auto* row = new QHBoxLayout;
    row->setSpacing(kGap);
    m_choice = new QComboBox(block);
    m_choice->setAccessibleName(tr("Table that is shown"));
    m_choice->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    connect(m_choice, &QComboBox::activated, this, [this](int index) {
        m_chosen = m_choice->itemData(index).toString();
        showTable();
    });
    m_filter = new QLineEdit(block);
    m_filter->setPlaceholderText(tr("Filter rows"));
    m_filter->setAccessibleName(tr("Filter rows of the table"));
    m_filter->setMaximumWidth(280);
    row->addWidget(m_choice);
    row->addWidget(m_filter, 1);
    row->addStretch(1);
    layout->addLayout(row);
    m_table = new DataTable(tr("What ran"), block);
    connect(m_filter, &QLineEdit::textChanged, m_table->table(), &TableModel::setFilter);
    connect(m_table, &DataTable::rowPicked, this, &OperatorsPage::pickRow);
    connect(m_table, &DataTable::menuOpens, this, &OperatorsPage::fillMenu);
    connect(m_table, &DataTable::rowActivated, this, [this](int place) {
        const WorkTable* table = chosen();
        if (table != nullptr && place < table->names.size())
            showOccurrence(table->names[place], table->kinds, true);
    });
    layout->addWidget(m_table);
    m_leftOut =
        quietLabel(tr("Enter or a double click shows the longest one on the timeline."), block);
    layout->addWidget(m_leftOut);
    m_notes = quietLabel({}, block);
    layout->addWidget(m_notes);
    return block;
}

void OperatorsPage::present() {
    if (!hasPart() || currentPart() == m_asked) return;
    m_asked = currentPart();
    m_flame->setPart(m_asked);
    if (!m_frame) pageFrame().setHeadline(tr("Reading what ran…"), {});
    m_work.ask(
        [part = m_asked](auto& reader, const auto&, const auto& generation) {
            return loadWork(reader, part, generation);
        },
        [this](const WorkFramePtr& frame) { showFrame(frame); });
}

void OperatorsPage::showFrame(const WorkFramePtr& frame) {
    m_frame = frame;
    m_tables = workTables(*frame);
    const bool hasSpans = frame->part->refusal.isEmpty() && frame->part->summary->events.spans > 0;
    if (m_tables.empty() && !hasSpans)
        return pageFrame().showNothing(workHeadline(*frame), noWorkText(*frame));
    if (pageFrame().state() == PageFrame::State::kNothing)
        pageFrame().showState(PageFrame::State::kFull);
    pageFrame().setHeadline(workHeadline(*frame), workSubline(*frame));
    const QSignalBlocker quiet(m_choice);
    m_choice->clear();
    for (const WorkTable& table : m_tables) {
        m_choice->addItem(table.table.title, QLatin1StringView(table.key));
        if (m_chosen == QLatin1StringView(table.key))
            m_choice->setCurrentIndex(m_choice->count() - 1);
    }
    showTable();
    m_launches->setFrame(*frame);
    const QString notes = notesText(frame->work);
    m_notes->setText(notes);
    m_notes->setVisible(!notes.isEmpty());
}

const WorkTable* OperatorsPage::chosen() const {
    const int at = m_choice->currentIndex();
    return at < 0 || at >= std::ssize(m_tables) ? nullptr : &m_tables[static_cast<std::size_t>(at)];
}

void OperatorsPage::showTable() {
    const WorkTable* table = chosen();
    for (QWidget* each : std::initializer_list<QWidget*>{m_table, m_choice, m_filter})
        each->setVisible(table != nullptr);
    m_leftOut->setVisible(table != nullptr && !table->names.empty());
    if (table == nullptr) return;
    m_table->setAccessibleName(table->table.title);
    m_table->setTable(table->table.columns, table->table.rows);
    m_table->setRowsSeen(kMostRowsSeen);
}

void OperatorsPage::pickRow(int row) {
    const WorkTable* table = chosen();
    if (table != nullptr && row < table->names.size())
        m_flame->showName(table->names[row], table->kinds);
}

void OperatorsPage::fillMenu(QMenu* menu, int row) {
    const WorkTable* table = chosen();
    if (table == nullptr || row >= table->names.size()) return;
    const QString name = table->names[row];
    const auto kinds = table->kinds;
    menu->addAction(tr("Show the longest on the timeline"), this,
                    [this, name, kinds] { showOccurrence(name, kinds, true); });
    menu->addAction(tr("Show the first on the timeline"), this,
                    [this, name, kinds] { showOccurrence(name, kinds, false); });
    menu->addAction(tr("Callers and callees"), this,
                    [this, name, kinds] { m_flame->showName(name, kinds); });
}

void OperatorsPage::showOccurrence(const QString& name,
                                   const std::vector<questions::StackKind>& kinds, bool longest) {
    if (!m_asked) return;
    m_occurrence.ask(
        [part = m_asked, kinds, name](auto& reader, const auto&, const auto& generation) {
            return loadOccurrences(reader, part, kinds, name, generation);
        },
        [this, longest](const FoundSpans& found) {
            if (!found) return;
            const questions::Occurrence& one = longest ? found->longest : found->first;
            const Duration around{std::max<std::int64_t>(1'000, one.range.duration().ns * kAround)};
            Selection evidence;
            evidence.range =
                TimeRange{one.range.begin - around, one.range.end + around}.intersection(
                    recording().bounds());
            evidence.ranks = {one.lane.rank};
            showElsewhere(page_ids::kTimeline, evidence);
        });
}

LaunchPanel::LaunchPanel(QWidget* parent) : QWidget(parent) {
    auto* layout = m_layout = new QGridLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setHorizontalSpacing(32);
    layout->setVerticalSpacing(kGapSmall);
    m_queue = new ChartPanel(this);
    m_queue->setTitles(tr("Work in queue"), {}, tr("time (s)"));
    m_queue->setDefinition(
        tr("Kernels and copies of a stream that were launched and had not "
           "begun, over time."));
    m_queue->setEmptyText(tr("No launches were recorded with the work that they asked for."));
    m_queue->setWholeNumbers(false);
    m_queue->setStartsAtZero(true);
    connect(m_queue, &ChartPanel::rangeSelected, this, [this](double low, double high) {
        Q_EMIT rangeSelected(
            {{std::llround(low * kNanoseconds)}, {std::llround(high * kNanoseconds)}});
    });
    m_roofline = new ChartPanel(this);
    m_roofline->setTitles(tr("Roofline of matrix products"), tr("GFLOP/s"),
                          tr("FLOPs per byte (estimated)"));
    m_roofline->setDefinition(
        tr("FLOPs of the products of a shape / their time, against FLOPs / "
           "least bytes that they move."));
    m_roofline->setEmptyText(tr("No matrix products with shapes were recorded."));
    m_roofline->setWholeNumbers(false);
    m_roofline->setLogarithmic(true, true);
    m_queueNote = quietLabel({}, this);
    m_roofNote = quietLabel({}, this);
    int column = 0;
    for (ChartPanel* chart : {m_queue, m_roofline}) {
        chart->setFixedHeight(kChartHeight);
        layout->addWidget(chart, 0, column);
        layout->setColumnStretch(column++, 1);
    }
    layout->addWidget(m_queueNote, 1, 0, Qt::AlignTop);
    layout->addWidget(m_roofNote, 1, 1, Qt::AlignTop);
}

void LaunchPanel::setFrame(const WorkFrame& frame) {
    m_queue->setSeries(queueLines(frame.queues));
    const auto ranks = std::ssize(frame.part->summary->ranks);
    QStringList notes;
    if (!frame.queues.empty() && ranks > 1)
        notes << tr("Of rank %1; select another rank to see it.")
                     .arg(frame.queues.front().rank.value);
    notes << unknownText(frame.launches);
    const QString note = notes.join(u' ').trimmed();
    m_queueNote->setText(note);
    // without a device there is no queue
    const bool queues = !frame.queues.empty() || !frame.part->summary->devices.empty();
    for (QWidget* each : {static_cast<QWidget*>(m_queue), static_cast<QWidget*>(m_queueNote)})
        each->setVisible(queues);
    m_layout->addWidget(m_roofline, 0, queues ? 1 : 0, 1, queues ? 1 : 2);
    m_layout->addWidget(m_roofNote, 1, queues ? 1 : 0, 1, queues ? 1 : 2, Qt::AlignTop);
    const auto roofline = rooflineOf(frame.work);
    if (roofline) {
        m_roofline->setRange(roofline->low, roofline->high);
        m_roofline->setSeries(roofline->lines);
        m_roofNote->setText(roofline->note);
        return;
    }
    m_roofline->setSeries({});
    m_roofNote->setText(
        tr("It takes shapes and types of inputs: PyTorch's profiler records them "
           "with record_shapes=True, our own at capture level full."));
}

QString LaunchPanel::roofNote() const {
    return m_roofNote->text();
}

}  // namespace shardscope::desktop
