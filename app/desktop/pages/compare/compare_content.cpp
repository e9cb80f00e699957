// What the Compare page consists of.
#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/compare/compare_page.h"
#include "app/desktop/pages/compare/stack_panel.h"
#include "app/desktop/pages/compare/step_timelines.h"
#include "app/desktop/widgets/card.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/pictures/stacked_bars.h"
#include "app/desktop/widgets/plain_layout.h"
#include "app/desktop/widgets/states.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kTableHeight = 280;
constexpr int kLossHeight = 220;

}  // namespace

QWidget* ComparePage::buildContent() {
    auto* content = new QWidget(this);
    auto* layout = plainLayout(content, kGapGroup);
    layout->addWidget(buildSides(content));
    m_none = new MessageState(entry().icon, tr("Nothing to compare with yet"),
                              tr("Choose another recording, or a trace: figures of both then stand "
                                 "beside each other. Or drop its file here."),
                              content);
    connect(m_none->addAction(tr("Choose a recording…"), true), &QPushButton::clicked, this,
            &ComparePage::chooseOther);
    layout->addWidget(m_none);
    m_refused = new MessageState(u"warning"_s, {}, {}, content);
    connect(m_refused->addAction(tr("Compare anyway"), false), &QPushButton::clicked, this, [this] {
        m_anyway = true;
        if (hasRecording()) present();
    });
    layout->addWidget(m_refused);
    m_full = buildFull(content);
    layout->addWidget(m_full);
    layout->addStretch();
    return content;
}

QWidget* ComparePage::buildSides(QWidget* parent) {
    auto* block = new QWidget(parent);
    auto* layout = plainLayout(block, kGapSmall);
    m_sides = new QWidget(block);
    m_sideLayout = new QHBoxLayout(m_sides);
    m_sideLayout->setContentsMargins(0, 0, 0, 0);
    m_sideLayout->setSpacing(kGap);
    m_note = quietLabel({}, block);
    m_warnings = quietLabel({}, block);
    m_warnings->setAccessibleName(tr("What else differs"));
    layout->addWidget(m_sides);
    layout->addWidget(m_note);
    layout->addWidget(m_warnings);
    return block;
}

QWidget* ComparePage::buildFull(QWidget* parent) {
    auto* full = new QWidget(parent);
    auto* layout = plainLayout(full, kGapPage);
    m_cardGrid = new QGridLayout;
    m_cardGrid->setSpacing(12);
    for (int i = 0; i < kCardCount; ++i) m_cards.push_back(new Card(full));
    placeCards();
    layout->addLayout(m_cardGrid);
    m_ledgerBlock = new QWidget(full);
    auto* ledger = plainLayout(m_ledgerBlock);
    m_ledger = new MirroredBars(m_ledgerBlock);
    connect(m_ledger, &MirroredBars::hovered, this, &RecordingPage::hoverChanged);
    ledger->addWidget(sectionLabel(
        tr("Where a step goes: median over the steps, mean over the ranks"), m_ledgerBlock));
    ledger->addWidget(m_ledger);
    layout->addWidget(m_ledgerBlock);
    addSteps(*layout);
    m_timelines = new StepTimelines(full);
    connect(m_timelines, &StepTimelines::hoverChanged, this, &RecordingPage::hoverChanged);
    layout->addWidget(m_timelines);
    m_stackPanel = new StackPanel(full);
    connect(m_stackPanel, &StackPanel::hoverChanged, this, &RecordingPage::hoverChanged);
    connect(m_stackPanel, &StackPanel::kindWanted, this,
            [this](questions::StackKind kind) { askForStacks(kind); });
    layout->addWidget(m_stackPanel);
    addDifferences(*layout);
    m_losses = new ChartPanel(full);
    m_losses->setMinimumHeight(kLossHeight);
    m_losses->setTitles(tr("Loss"), tr("nats"), tr("step"));
    m_losses->setDefinition(
        tr("As the runs reported it, step by step. Apart: a difference of more than 5 times the "
           "noise of both curves."));
    connect(m_losses, &ChartPanel::rangeSelected, this, [this](double low, double high) {
        const StepSpan steps{StepIndex{static_cast<std::int32_t>(std::ceil(low))},
                             StepIndex{static_cast<std::int32_t>(std::floor(high))}};
        if (hasRecording() && steps.first < steps.last) selection().selectSteps(steps);
    });
    m_losses->setEmptyText(tr("Neither recording has a loss."));
    layout->addWidget(m_losses);
    auto* figures = new QWidget(full);
    auto* figureLayout = plainLayout(figures);
    m_figures = new DataTable(tr("All figures of both"), figures);
    m_figures->setFitsRows(true);
    figureLayout->addWidget(sectionLabel(tr("All figures"), figures));
    figureLayout->addWidget(m_figures);
    layout->addWidget(figures);
    return full;
}

void ComparePage::addSteps(QVBoxLayout& layout) {
    m_stepBlock = new QWidget(this);
    auto* block = plainLayout(m_stepBlock);
    auto* title = new QHBoxLayout;
    title->addWidget(sectionLabel(tr("One step of each, from its start on"), m_stepBlock));
    title->addStretch();
    m_stepChoice = new QHBoxLayout;
    m_stepChoice->setSpacing(kGap);
    title->addLayout(m_stepChoice);
    m_stepBars = new StackedBars(m_stepBlock);
    m_stepBars->setAccessibleName(tr("One step of each, one bar per recording"));
    m_stepBars->setLabelWidth(88);
    m_stepBars->setAxis({tr("ms since the step's start"),
                         [](double maximum, int ticks) { return niceTicks(0, maximum, ticks); },
                         formatTick});
    connect(m_stepBars, &StackedBars::hovered, this, &RecordingPage::hoverChanged);
    m_stepBars->setToolTip(tr("Click a bar of the open recording to see it on the Timeline"));
    connect(m_stepBars, &StackedBars::activated, this, &ComparePage::showStep);
    m_stepLegend = new Legend(m_stepBlock);
    block->addLayout(title);
    block->addWidget(m_stepBars);
    block->addWidget(m_stepLegend);
    layout.addWidget(m_stepBlock);
}

void ComparePage::addDifferences(QVBoxLayout& layout) {
    m_differenceBlock = new QWidget(this);
    auto* block = plainLayout(m_differenceBlock);
    auto* title = new QHBoxLayout;
    title->addWidget(sectionLabel(tr("What makes the difference"), m_differenceBlock));
    title->addStretch();
    m_table = new QComboBox(m_differenceBlock);
    m_table->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_table->setMinimumContentsLength(12);
    m_table->setAccessibleName(tr("Which differences are listed"));
    connect(m_table, &QComboBox::currentIndexChanged, this, &ComparePage::presentDifferences);
    title->addWidget(m_table);
    m_differences = new DataTable(tr("What makes the difference"), m_differenceBlock);
    m_differences->setFixedHeight(kTableHeight);
    block->addLayout(title);
    block->addWidget(m_differences);
    layout.addWidget(m_differenceBlock);
}

void ComparePage::buildControls() {
    m_choice = new QComboBox(this);
    m_choice->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_choice->setAccessibleName(tr("Which recording is compared with the others"));
    m_choice->setToolTip(tr("It takes the last letter; changes are of it, against the others."));
    connect(m_choice, &QComboBox::currentIndexChanged, this, [this](int index) {
        if (index < 0 || !hasRecording()) return;
        m_judged = m_choice->itemData(index).toString();
        present();
    });
    m_swap = new QPushButton(tr("Swap"), this);
    m_swap->setToolTip(tr("A becomes B: changes are of B, against A"));
    connect(m_swap, &QPushButton::clicked, this, &ComparePage::swap);
    m_add = new QPushButton(tr("Add a recording…"), this);
    m_add->setToolTip(tr("Compare with another recording, or with a trace"));
    connect(m_add, &QPushButton::clicked, this, &ComparePage::chooseOther);
    for (QWidget* control : {static_cast<QWidget*>(m_choice), static_cast<QWidget*>(m_swap),
                             static_cast<QWidget*>(m_add)})
        pageFrame().addHeaderWidget(control);
}

}  // namespace shardscope::desktop
