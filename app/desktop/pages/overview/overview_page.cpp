#include "app/desktop/pages/overview/overview_page.h"

#include "app/desktop/models/step_split.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/overview/trace_tables.h"
#include "app/desktop/widgets/card.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/detail_list.h"
#include "app/desktop/widgets/finding_list.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/pictures/column_chart.h"
#include "app/desktop/widgets/pictures/heat_map.h"
#include "app/desktop/widgets/pictures/stacked_bars.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/cancellable_reader.h"

#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <memory>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kCards = 6;
constexpr int kWideCards = 1000;

/// Made on a loader thread.
struct MadeHeatMap {
    LedgerHeat axes;
    HeatData map;
};
using HeatMapPtr = std::shared_ptr<const MadeHeatMap>;

/// Of the selected ranks, with the steps that are not selected.
std::vector<analysis::LedgerRow> rowsAround(const SelectedPart& part) {
    std::vector<analysis::LedgerRow> rows;
    for (const analysis::LedgerRow& row : part.recording->report.ledger)
        if (part.selection.includes(row.rank)) rows.push_back(row);
    return rows;
}

/// `steps`: of the columns.
void showSelected(const SelectedPart& part, const std::vector<StepIndex>& steps, HeatData& map) {
    const auto selected = part.recording->stepsOf(part.selection);
    if (!part.selection.cutsTime() || !selected) return;
    const auto from = std::lower_bound(steps.begin(), steps.end(), selected->first);
    const auto to = std::upper_bound(from, steps.end(), selected->last);
    map.shownFrom = static_cast<std::size_t>(from - steps.begin());
    map.shownTo = static_cast<std::size_t>(to - steps.begin());
}

std::vector<QRectF> skeleton() {
    std::vector<QRectF> blocks;
    for (int i = 0; i < kCards; ++i) blocks.emplace_back(i * 0.168, 0, 0.16, 0.13);
    blocks.emplace_back(0, 0.18, 0.68, 0.14);
    blocks.emplace_back(0, 0.36, 0.68, 0.24);
    blocks.emplace_back(0, 0.64, 0.68, 0.28);
    blocks.emplace_back(0.72, 0.18, 0.28, 0.42);
    return blocks;
}

}  // namespace

PageEntry OverviewPage::entry() {
    return {page_ids::kOverview, u"overview"_s, tr("Overview"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new OverviewPage(context, parent);
            }};
}

OverviewPage::OverviewPage(PageContext& context, QWidget* parent)
    : RecordingPage(context, parent),
      m_heatMap(context.loader, Urgency::kTable),
      m_trace(context.loader, Urgency::kTable),
      m_settingsFile(context.settingsFile) {
    setUp(buildContent(), entry().icon, tr("Where does a step's time go?"),
          tr("Open a recording or start a run: this page then says how much of a step is compute, "
             "how much is spent blocked in communication, and what to look at first."),
          skeleton(), true);
}

QWidget* OverviewPage::buildContent() {
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGapPage);
    m_cardGrid = new QGridLayout;
    m_cardGrid->setSpacing(12);
    for (int i = 0; i < kCards; ++i) m_cards.push_back(new Card(content));
    placeCards();
    layout->addLayout(m_cardGrid);
    auto* columns = new QHBoxLayout;
    columns->setSpacing(32);
    columns->addWidget(buildEvidence(content), 5);
    columns->addWidget(buildSide(content), 2);
    layout->addLayout(columns);
    layout->addStretch();
    return content;
}

QWidget* OverviewPage::buildEvidence(QWidget* parent) {
    auto* evidence = new QWidget(parent);
    auto* layout = new QVBoxLayout(evidence);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    layout->addWidget(buildSteps(evidence));
    layout->addWidget(buildDevices(evidence));
    layout->addWidget(buildParts(evidence));
    m_traceBlock = new QWidget(evidence);
    auto* trace = new QVBoxLayout(m_traceBlock);
    trace->setContentsMargins(0, kGap, 0, 0);
    trace->setSpacing(kGap);
    layout->addWidget(m_traceBlock);
    layout->addStretch(1);  // all that a longer side leaves
    return evidence;
}

QWidget* OverviewPage::buildSteps(QWidget* parent) {
    m_stepBlock = new QWidget(parent);
    auto* layout = new QVBoxLayout(m_stepBlock);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    m_bars = new StackedBars(m_stepBlock);
    m_bars->setAccessibleName(tr("Where a step goes, one bar per rank"));
    m_bars->setAxis({tr("ms per step, mean"),
                     [](double maximum, int ticks) { return niceTicks(0, maximum, ticks); },
                     formatTick});
    connect(m_bars, &StackedBars::hovered, this, &RecordingPage::hoverChanged);
    connect(m_bars, &StackedBars::activated, this, [this](int bar) {
        const auto& ranks = ledger().ranks;
        // of many ranks the only bar is their mean
        if (bar < std::ssize(ranks) && ranks.size() <= kMostRankBars)
            this->selection().selectRanks({ranks[static_cast<std::size_t>(bar)]});
    });
    m_legend = new Legend(m_stepBlock);
    m_barsTitle = sectionLabel(tr("Where a step goes"), m_stepBlock);
    layout->addWidget(m_barsTitle);
    layout->addWidget(m_bars);
    layout->addWidget(m_legend);
    layout->addSpacing(kGap);
    addStepByStep(*layout);
    return m_stepBlock;
}

void OverviewPage::addStepByStep(QVBoxLayout& layout) {
    m_steps = new ColumnChart(m_stepBlock);
    m_steps->setTitles(tr("ms"), tr("step"));
    m_steps->setFixedHeight(184);
    connect(m_steps, &ColumnChart::activated, this, &OverviewPage::selectStep);
    m_choice = new QComboBox(m_stepBlock);
    m_choice->setAccessibleName(tr("What is shown step by step"));
    connect(m_choice, &QComboBox::currentIndexChanged, this, &OverviewPage::presentSteps);
    m_order = new QComboBox(m_stepBlock);
    m_order->setAccessibleName(tr("Order of the ranks"));
    m_order->addItems({tr("by rank"), tr("highest first")});
    connect(m_order, &QComboBox::currentIndexChanged, this, &OverviewPage::presentSteps);
    m_stepRow = sectionLabel(tr("The same, step by step"), m_stepBlock);
    auto* title = new QHBoxLayout;
    title->addWidget(m_stepRow);
    title->addStretch();
    title->addWidget(m_choice);
    title->addWidget(m_order);
    layout.addLayout(title);
    layout.addWidget(m_steps);
    m_heat = new HeatMap(m_stepBlock);
    m_heat->setTitles(tr("step"), tr("rank"), tr("share of the step"));
    connect(m_heat, &HeatMap::cellActivated, this, &OverviewPage::selectCell);
    connect(m_heat, &HeatMap::hovered, this, &RecordingPage::hoverChanged);
    layout.addWidget(m_heat);
}

QWidget* OverviewPage::buildParts(QWidget* parent) {
    m_partsBlock = new QWidget(parent);
    auto* layout = new QVBoxLayout(m_partsBlock);
    layout->setContentsMargins(0, kGap, 0, 0);
    layout->setSpacing(kGap);
    m_parts = new DataTable(tr("Parts of a step"), m_partsBlock);
    m_parts->setFitsRows(true);
    layout->addWidget(sectionLabel(tr("Parts of a step"), m_partsBlock));
    layout->addWidget(m_parts);
    return m_partsBlock;
}

QWidget* OverviewPage::buildDevices(QWidget* parent) {
    m_deviceBlock = new QWidget(parent);
    auto* layout = new QVBoxLayout(m_deviceBlock);
    layout->setContentsMargins(0, kGap, 0, 0);
    layout->setSpacing(kGap);
    m_devices = new DataTable(tr("Devices and their peaks"), m_deviceBlock);
    m_devices->setFitsRows(true);
    m_deviceTimes = new DataTable(tr("What kernels did, by device"), m_deviceBlock);
    m_deviceTimes->setFitsRows(true);
    m_deviceNote = quietLabel({}, m_deviceBlock);
    layout->addWidget(sectionLabel(tr("Devices"), m_deviceBlock));
    layout->addWidget(m_devices);
    layout->addSpacing(kGap);
    layout->addWidget(sectionLabel(tr("What devices did"), m_deviceBlock));
    layout->addWidget(m_deviceTimes);
    layout->addWidget(m_deviceNote);
    return m_deviceBlock;
}

void OverviewPage::presentDevices() {
    m_deviceBlock->setVisible(!part().summary->devices.empty());
    auto columns = deviceColumns(), timeColumns = deviceTimeColumns();
    TableRows rows = deviceRows(part()), timeRows = deviceTimeRows(part());
    // a trace cannot be recorded again with more in it
    if (recording().isTrace()) {
        dropUnknownColumns(columns, rows);
        dropUnknownColumns(timeColumns, timeRows);
    }
    m_devices->setTable(std::move(columns), std::move(rows));
    m_deviceTimes->setTable(std::move(timeColumns), std::move(timeRows));
    m_deviceNote->setText(deviceTimeNote(part()));
}

QWidget* OverviewPage::buildSide(QWidget* parent) {
    auto* side = new QWidget(parent);
    side->setMinimumWidth(248);
    auto* layout = new QVBoxLayout(side);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    m_findings = new FindingList(side);
    connect(m_findings, &FindingList::evidenceRequested, this, &OverviewPage::showFinding);
    m_facts = new DetailList(side);
    m_facts->setWraps(true, 96);
    layout->addWidget(sectionLabel(tr("Findings"), side));
    layout->addWidget(m_findings);
    layout->addSpacing(kGapGroup);
    m_import = new DetailList(side);
    m_import->setWraps(true, 96);
    m_importTitle = sectionLabel(tr("How it was imported"), side);
    layout->addWidget(sectionLabel(tr("About this run"), side));
    layout->addWidget(m_facts);
    layout->addSpacing(kGapGroup);
    layout->addWidget(m_importTitle);
    layout->addWidget(m_import);
    layout->addStretch();
    return side;
}

void OverviewPage::placeCards() {
    const int shown = std::max(1, m_cardCount);
    const int columns = width() >= kWideCards ? shown : (shown + 1) / 2;
    if (columns == m_cardColumns) return;
    m_cardColumns = columns;
    for (int i = 0; i < kCards; ++i) {
        m_cardGrid->addWidget(m_cards[static_cast<std::size_t>(i)], i / columns, i % columns);
        m_cardGrid->setColumnStretch(i, i < columns ? 1 : 0);
    }
}

void OverviewPage::resizeEvent(QResizeEvent* event) {
    RecordingPage::resizeEvent(event);
    placeCards();
}

void OverviewPage::present() {
    if (!hasPart()) return;
    m_shown = currentPart();
    m_targets = readTargets(m_settingsFile);
    pageFrame().setHeadline(overviewHeadline(part(), ledger()), overviewSubline(part()));
    presentCards(cardsOf(part(), ledger(), m_targets));
    presentLedger();
    presentDevices();
    m_parts->setTable(partsColumns(part()), partsRows(part()));
    m_findings->setFindings(findings(part()), verdicts(part()));
    m_facts->setRows(runFacts(recording()));
    m_importTitle->setVisible(!recording().importFacts.empty());
    m_import->setVisible(!recording().importFacts.empty());
    m_import->setRows(recording().importFacts);
    presentTrace();
}

void OverviewPage::showEvent(QShowEvent* event) {
    RecordingPage::showEvent(event);
    // targets may have been changed on another page
    if (hasRecording() && hasPart() && readTargets(m_settingsFile) != m_targets) present();
}

const LedgerView& OverviewPage::ledger() const {
    static const LedgerView kNone;
    return m_shown ? m_shown->figures->ledger : kNone;
}

void OverviewPage::presentLedger() {
    const bool any = !ledger().empty();
    const bool many = ledger().ranks.size() > kMostRankBars;
    m_stepBlock->setVisible(any || !ledger().steps.columns.empty());
    m_barsTitle->setVisible(any);
    m_partsBlock->setVisible(any && (!many || part().against));
    m_bars->setVisible(any);
    m_heat->setVisible(many);
    m_steps->setVisible(!many);
    m_order->setVisible(any && many);
    m_choice->setVisible(any && (many || ledger().ranks.size() > 1));
    m_bars->setBars(many ? std::vector{meanBar(ledger())} : ledgerBars(ledger()));
    if (many)
        offerParts();
    else
        offerRanks();
    presentSteps();
}

void OverviewPage::offerRanks() {
    const QSignalBlocker quiet(m_choice);
    const int before = m_choice->currentIndex();
    m_choice->clear();
    for (RankId rank : ledger().ranks) m_choice->addItem(tr("rank %1").arg(rank.value));
    m_choice->setCurrentIndex(before >= 0 && before < m_choice->count() ? before : 0);
}

void OverviewPage::offerParts() {
    const QSignalBlocker quiet(m_choice);
    const QString before = m_choice->currentText();
    m_choice->clear();
    for (const HeatChoice& choice : heatChoices(ledger())) m_choice->addItem(choice.name);
    m_choice->setCurrentIndex(std::max(0, m_choice->findText(before)));
}

/// Of a program or a trace: what ran, and where the device's time went; of a run of ours its
/// copies. Asked once for each selection.
void OverviewPage::presentTrace() {
    const bool any = !recording().isOwn() || !part().summary->devices.empty();
    m_traceBlock->setVisible(any);
    if (!any) return m_trace.forget();
    const PartPtr wanted = currentPart();
    if (wanted == m_tracePart) return;
    m_tracePart = wanted;
    m_trace.ask(
        [wanted](auto& reader, const auto&, const auto& generation) {
            storage::CancellableReader cancellable(reader, generation);
            // the other tables of a run of ours are figures of its pages
            return readTraceTables(
                cancellable, *wanted,
                wanted->recording->isOwn() ? TraceTables::kCopies : TraceTables::kAll);
        },
        [this](const std::vector<AnswerTable>& tables) { showTrace(tables); });
}

void OverviewPage::showTrace(const std::vector<AnswerTable>& tables) {
    while (QLayoutItem* item = m_traceBlock->layout()->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    for (const AnswerTable& table : tables) {
        auto* shown = new DataTable(table.title, m_traceBlock);
        shown->setFitsRows(true);
        shown->setTable(table.columns, table.rows);
        m_traceBlock->layout()->addWidget(sectionLabel(table.title, m_traceBlock));
        m_traceBlock->layout()->addWidget(shown);
        if (table.left == 0) continue;
        const QString more = tr("%1 more").arg(formatCount(static_cast<std::int64_t>(table.left)));
        shown->setAccessibleDescription(more);
        m_traceBlock->layout()->addWidget(quietLabel(more, m_traceBlock));
    }
}

void OverviewPage::presentCards(const std::vector<CardContent>& cards) {
    m_cardCount = static_cast<int>(std::min(cards.size(), m_cards.size()));
    placeCards();
    for (std::size_t i = 0; i < m_cards.size(); ++i) {
        m_cards[i]->setVisible(i < cards.size());
        if (i >= cards.size()) continue;
        const CardContent& content = cards[i];
        m_cards[i]->setTitle(content.title, content.briefTitle);
        m_cards[i]->setValue(content.value.number, content.value.unit, content.qualifier);
        m_cards[i]->setDetail(content.detail);
        m_cards[i]->setDefinition(content.definition);
        m_cards[i]->setTrend(content.trend);
        m_cards[i]->setVerdict(content.verdict, content.verdictGood);
    }
}

void OverviewPage::presentSteps() {
    if (!m_shown) return;
    const int index = m_choice->currentIndex();
    if (ledger().ranks.size() > kMostRankBars) {
        const auto choices = heatChoices(ledger());
        if (index < 0 || index >= static_cast<int>(choices.size())) return;
        const HeatOrder order =
            m_order->currentIndex() == 0 ? HeatOrder::kByRank : HeatOrder::kHighestFirst;
        m_legend->setEntries(ledgerLegend(ledger()));
        // as many rows as ranks have steps: not within a frame
        return m_heatMap.ask(
            [part = m_shown, choice = choices[static_cast<std::size_t>(index)], order](
                const auto&, const auto&, const auto&) -> Result<HeatMapPtr> {
                auto made = std::make_shared<MadeHeatMap>();
                const auto rows = rowsAround(*part);
                made->axes = ledgerAxes(rows, choice, order);
                made->map = ledgerHeat(rows, choice, made->axes);
                showSelected(*part, made->axes.steps, made->map);
                return HeatMapPtr(std::move(made));
            },
            [this](const HeatMapPtr& made) {
                m_heatAxes = made->axes;
                m_heat->setMap(made->map);
            });
    }
    m_heatMap.forget();
    StepSplit split = stepSplit(stepsToShow(index));
    m_columnSteps = std::move(split.steps);
    const auto selected = recording().stepsOf(m_shown->selection);
    if (m_shown->selection.cutsTime())
        for (std::size_t i = 0; i < m_columnSteps.size(); ++i)
            split.columns[i].emphasised = selected && m_columnSteps[i].first <= selected->last &&
                                          selected->first <= m_columnSteps[i].last;
    m_legend->setVisible(!split.legend.empty());
    m_legend->setEntries(std::move(split.legend));
    m_steps->setTitles(tr("ms"), split.across);
    m_steps->setColumns(std::move(split.columns));
}

/// All steps of the recording, whatever is selected: of the rank that was chosen, else the mean.
const StepSums& OverviewPage::stepsToShow(int choice) const {
    const bool ofRank = choice >= 0 && choice < static_cast<int>(ledger().ranks.size());
    const auto place = static_cast<std::size_t>(ofRank ? choice : 0);
    const std::vector<StepSums>& around = m_shown->around;
    if (!around.empty()) return around[std::min(place, around.size() - 1)];
    return ofRank ? ledger().byRanks[place] : ledger().steps;
}

void OverviewPage::selectStep(int column) {
    if (column >= 0 && column < static_cast<int>(m_columnSteps.size()))
        selection().selectSteps(m_columnSteps[static_cast<std::size_t>(column)]);
}

void OverviewPage::selectCell(int row, int column) {
    const LedgerHeat& heat = m_heatAxes;
    if (row >= static_cast<int>(heat.ranks.size()) || column >= static_cast<int>(heat.steps.size()))
        return;
    Selection wanted;
    const StepIndex step = heat.steps[static_cast<std::size_t>(column)];
    wanted.steps = StepSpan{step, step};
    wanted.ranks = {heat.ranks[static_cast<std::size_t>(row)]};
    selection().select(wanted);
}

}  // namespace shardscope::desktop
