// What the Efficiency page consists of.
#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/efficiency/efficiency_page.h"
#include "app/desktop/pages/efficiency/scaling_panel.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/pictures/column_chart.h"
#include "app/desktop/widgets/pictures/stacked_bars.h"
#include "app/desktop/widgets/plain_layout.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace shardscope::desktop {
namespace {

constexpr int kCurveHeight = 264, kSpeedHeight = 240, kRankHeight = 232;
constexpr int kBesideCurve = 488;

}  // namespace

QWidget* EfficiencyPage::buildContent() {
    auto* content = new QWidget(this);
    auto* layout = plainLayout(content, kGapPage);
    m_mfuBlock = buildMfu(content);
    m_partBlock = buildParts(content);
    m_goodputBlock = buildGoodput(content);
    layout->addWidget(m_mfuBlock);
    layout->addWidget(m_partBlock);
    layout->addWidget(m_goodputBlock);
    layout->addWidget(buildTables(content));
    m_unknown = quietLabel({}, content);
    m_unknown->setAccessibleName(tr("What is unknown"));
    layout->addWidget(m_unknown);
    layout->addWidget(m_scaling);
    layout->addStretch(1);  // all that a high window leaves
    return content;
}

QWidget* EfficiencyPage::buildMfu(QWidget* parent) {
    auto* block = new QWidget(parent);
    auto* row = new QHBoxLayout(block);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(32);
    m_curve = new ChartPanel(block);
    m_curve->setMinimumHeight(kCurveHeight);
    m_curve->setStartsAtZero(true);
    m_curve->setEmptyText(tr("Unknown per step: peak, model or tokens are not known."));
    connect(m_curve, &ChartPanel::rangeSelected, this, &EfficiencyPage::selectStretch);
    connect(m_curve, &ChartPanel::activated, this, [this](double x) { selectStretch(x, x); });
    auto* side = new QWidget(block);
    side->setFixedWidth(kBesideCurve);
    auto* column = plainLayout(side);
    m_variants = new DataTable(tr("MFU by every way to count"), side);
    m_variants->setFitsRows(true);
    connect(m_variants, &DataTable::rowPicked, this, [this](int place) {
        const auto variants = m_frame ? mfuVariants(m_frame->answer) : std::vector<MfuVariant>();
        if (place >= 0 && place < std::ssize(variants))
            chooseVariant(variants[static_cast<std::size_t>(place)].word);
    });
    column->addWidget(sectionLabel(tr("MFU by every way to count"), side));
    column->addWidget(m_variants);
    column->addStretch();
    row->addWidget(m_curve, 1);
    row->addWidget(side);
    return block;
}

QWidget* EfficiencyPage::buildParts(QWidget* parent) {
    auto* block = new QWidget(parent);
    auto* layout = plainLayout(block);
    auto* title = new QHBoxLayout;
    title->addWidget(sectionLabel(tr("Matrix products by phase and layer"), block));
    title->addStretch();
    m_all = new QPushButton(block);
    m_all->setAccessibleName(tr("Show all phases and layers"));
    m_all->setToolTip(tr("List the ranks' speed in all phases and layers again."));
    m_all->hide();
    connect(m_all, &QPushButton::clicked, this, [this] {
        m_part.reset();
        if (m_frame) presentParts();
    });
    title->addWidget(m_all);
    m_speeds = new ColumnChart(block);
    m_speeds->setFixedHeight(kSpeedHeight);
    connect(m_speeds, &ColumnChart::columnActivated, this, &EfficiencyPage::choosePart);
    connect(m_speeds, &ColumnChart::hovered, this, &RecordingPage::hoverChanged);
    m_speedLegend = new Legend(block);
    m_partNote = quietLabel({}, block);
    m_ranks = new DataTable(tr("Matrix products by rank, phase and layer"), block);
    m_ranks->setFixedHeight(kRankHeight);
    connect(m_ranks, &DataTable::rowPicked, this, [this](int row) {
        if (row >= 0 && row < std::ssize(m_partRanks))
            selectRank(m_partRanks[static_cast<std::size_t>(row)]);
    });
    m_rankNote = quietLabel({}, block);
    layout->addLayout(title);
    layout->addWidget(m_speeds);
    layout->addWidget(m_speedLegend);
    layout->addWidget(m_partNote);
    layout->addWidget(m_ranks);
    layout->addWidget(m_rankNote);
    return block;
}

QWidget* EfficiencyPage::buildGoodput(QWidget* parent) {
    auto* block = new QWidget(parent);
    auto* layout = plainLayout(block);
    m_goodput = new StackedBars(block);
    m_goodput->setAxis({tr("s, all ranks together"),
                        [](double maximum, int ticks) { return niceTicks(0, maximum, ticks); },
                        formatTick});
    m_goodput->setAccessibleName(tr("Where the wall time of all ranks went"));
    connect(m_goodput, &StackedBars::hovered, this, &RecordingPage::hoverChanged);
    m_goodputLegend = new Legend(block);
    m_items = new DataTable(tr("Where the wall time of all ranks went"), block);
    m_items->setFitsRows(true);
    layout->addWidget(sectionLabel(tr("Where the wall time of all ranks went"), block));
    layout->addWidget(m_goodput);
    layout->addWidget(m_goodputLegend);
    layout->addWidget(m_items);
    return block;
}

QWidget* EfficiencyPage::buildTables(QWidget* parent) {
    auto* block = new QWidget(parent);
    auto* layout = plainLayout(block, kGapPage);
    const auto add = [&](QWidget*& part, DataTable*& table, const char* key, const QString& title) {
        part = new QWidget(block);
        auto* column = plainLayout(part);
        table = new DataTable(title, part);
        column->addWidget(sectionLabel(title, part));
        column->addWidget(table);
        layout->addWidget(part);
        connect(table, &DataTable::rowPicked, this, [this, key](int row) {
            const auto* answered = m_frame ? findTable(m_frame->answer, key) : nullptr;
            if (answered != nullptr) selectRank(rankOfRow(*answered, row));
        });
    };
    add(m_peakBlock, m_peaks, "peaks", tr("Peaks of matrix products"));
    add(m_energyBlock, m_energy, "energy", tr("Energy of each rank's device"));
    return block;
}

void EfficiencyPage::buildControls() {
    auto* word = new QLabel(tr("FLOPs counted as"), this);
    m_choice = new QComboBox(this);
    m_choice->setAccessibleName(tr("How FLOPs are counted"));
    m_choice->setToolTip(
        tr("Ways to count the FLOPs of a token, as others do. The peak and the "
           "time are the same."));
    m_choice->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_choice->setMinimumContentsLength(8);
    connect(m_choice, &QComboBox::activated, this,
            [this](int index) { chooseVariant(m_choice->itemData(index).toString()); });
    word->setBuddy(m_choice);
    pageFrame().addHeaderWidget(word);
    pageFrame().addHeaderWidget(m_choice);
}

}  // namespace shardscope::desktop
