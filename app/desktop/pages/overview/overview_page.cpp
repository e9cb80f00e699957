#include "app/desktop/pages/overview/overview_page.h"

#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/overview/device_model.h"
#include "app/desktop/pages/overview/finding_list.h"
#include "app/desktop/widgets/card.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/detail_list.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/stacked_bars.h"
#include "app/desktop/widgets/stacked_columns.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QVBoxLayout>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kCards = 6;
constexpr int kWideCards = 1000;

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

OverviewPage::OverviewPage(PageContext& context, QWidget* parent) : RecordingPage(context, parent) {
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
    layout->addStretch();
    return evidence;
}

QWidget* OverviewPage::buildSteps(QWidget* parent) {
    m_stepBlock = new QWidget(parent);
    auto* layout = new QVBoxLayout(m_stepBlock);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    m_bars = new StackedBars(m_stepBlock);
    m_bars->setAxis({tr("ms per step, median of each part"),
                     [](double maximum, int ticks) { return niceTicks(0, maximum, ticks); },
                     formatTick});
    connect(m_bars, &StackedBars::segmentHovered, this, &RecordingPage::hoverChanged);
    connect(m_bars, &StackedBars::barActivated, this, [this](int bar) {
        if (bar < static_cast<int>(m_ledger.ranks.size())) {
            this->selection().selectRanks({m_ledger.ranks[static_cast<std::size_t>(bar)]});
        }
    });
    m_legend = new Legend(m_stepBlock);
    layout->addWidget(sectionLabel(tr("Where a step goes"), m_stepBlock));
    layout->addWidget(m_bars);
    layout->addWidget(m_legend);
    layout->addSpacing(kGap);
    addStepByStep(*layout);
    return m_stepBlock;
}

void OverviewPage::addStepByStep(QVBoxLayout& layout) {
    m_steps = new StackedColumns(m_stepBlock);
    m_steps->setTitles(tr("ms"), tr("step"));
    m_steps->setFixedHeight(184);
    connect(m_steps, &StackedColumns::columnActivated, this, &OverviewPage::selectStep);
    m_rank = new QComboBox(m_stepBlock);
    m_rank->setAccessibleName(tr("Rank shown step by step"));
    connect(m_rank, &QComboBox::currentIndexChanged, this, &OverviewPage::presentSteps);
    auto* title = new QHBoxLayout;
    title->addWidget(sectionLabel(tr("The same, step by step"), m_stepBlock));
    title->addStretch();
    title->addWidget(m_rank);
    layout.addLayout(title);
    layout.addWidget(m_steps);
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
    layout->addWidget(sectionLabel(tr("What the kernels did"), m_deviceBlock));
    layout->addWidget(m_deviceTimes);
    layout->addWidget(m_deviceNote);
    return m_deviceBlock;
}

void OverviewPage::presentDevices() {
    m_deviceBlock->setVisible(!recording().summary.devices.empty());
    m_devices->setTable(deviceColumns(), deviceRows(recording()));
    m_deviceTimes->setTable(deviceTimeColumns(), deviceTimeRows(recording()));
    m_deviceNote->setText(deviceTimeNote(recording()));
}

QWidget* OverviewPage::buildSide(QWidget* parent) {
    auto* side = new QWidget(parent);
    side->setMinimumWidth(248);
    auto* layout = new QVBoxLayout(side);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    m_findings = new FindingList(side);
    connect(
        m_findings, &FindingList::evidenceRequested, this,
        [this](const QString& page, const Selection& evidence) { showElsewhere(page, evidence); });
    m_facts = new DetailList(side);
    m_facts->setWraps(true, 96);
    layout->addWidget(sectionLabel(tr("Findings"), side));
    layout->addWidget(m_findings);
    layout->addSpacing(kGapGroup);
    layout->addWidget(sectionLabel(tr("About this run"), side));
    layout->addWidget(m_facts);
    layout->addStretch();
    return side;
}

void OverviewPage::placeCards() {
    const int columns = width() >= kWideCards ? kCards : kCards / 2;
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
    m_ledger = selectLedger(recording(), selection().current());
    pageFrame().setHeadline(overviewHeadline(recording(), m_ledger), overviewSubline(recording()));
    presentCards(overviewCards(recording(), m_ledger));
    m_stepBlock->setVisible(!m_ledger.rows.empty());
    m_partsBlock->setVisible(!m_ledger.rows.empty());
    m_bars->setBars(ledgerBars(m_ledger));
    m_legend->setEntries(ledgerLegend(m_ledger));
    {
        const QSignalBlocker quiet(m_rank);
        const int before = m_rank->currentIndex();
        m_rank->clear();
        for (RankId rank : m_ledger.ranks) m_rank->addItem(tr("rank %1").arg(rank.value));
        m_rank->setCurrentIndex(before >= 0 && before < m_rank->count() ? before : 0);
        m_rank->setVisible(m_rank->count() > 1);
    }
    presentDevices();
    presentSteps();
    m_parts->setTable(partsColumns(m_ledger), partsRows(m_ledger));
    m_findings->setFindings(findings(recording()), verdicts(recording()));
    m_facts->setRows(runFacts(recording()));
}

void OverviewPage::presentCards(const std::vector<CardContent>& cards) {
    for (std::size_t i = 0; i < m_cards.size() && i < cards.size(); ++i) {
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
    const int index = m_rank->currentIndex();
    if (index < 0 || index >= static_cast<int>(m_ledger.ranks.size())) {
        m_steps->setColumns({});
        return;
    }
    m_steps->setColumns(stepColumns(m_ledger, m_ledger.ranks[static_cast<std::size_t>(index)]));
}

void OverviewPage::selectStep(int column) {
    const int index = m_rank->currentIndex();
    if (index < 0 || !hasRecording()) return;
    const RankId rank = m_ledger.ranks[static_cast<std::size_t>(index)];
    int position = 0;
    for (const auto& row : m_ledger.rows) {
        if (row.rank != rank) continue;
        if (position++ != column) continue;
        selection().selectSteps({row.step, row.step});
        return;
    }
}

}  // namespace shardscope::desktop
