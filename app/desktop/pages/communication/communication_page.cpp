#include "app/desktop/pages/communication/communication_page.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/pages/communication/communication_texts.h"
#include "app/desktop/pages/communication/layer_columns.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/pictures/column_chart.h"
#include "app/desktop/widgets/pictures/heat_map.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "storage/recording/read/cancellable_reader.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QVBoxLayout>
#include <memory>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kFirstRows = 140;  ///< height of the table's first ones, with their header
constexpr int kTableHeight = 360;
constexpr int kChartHeight = 272, kEmptyHeight = 136;

QVBoxLayout* column(QWidget* parent) {
    auto* layout = new QVBoxLayout(parent);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    return layout;
}

/// Where the reader puts it, a heading with controls at its right.
QHBoxLayout* titleRow(QLabel* title, std::initializer_list<QWidget*> controls) {
    auto* row = new QHBoxLayout;
    row->setSpacing(kGap);
    row->addWidget(title);
    row->addStretch();
    for (QWidget* control : controls) row->addWidget(control);
    return row;
}

}  // namespace

PageEntry CommunicationPage::entry() {
    return {page_ids::kCommunication, u"communication"_s, tr("Communication"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new CommunicationPage(context, parent);
            }};
}

CommunicationPage::CommunicationPage(PageContext& context, QWidget* parent)
    : RecordingPage(context, parent),
      m_topic(context.loader, Urgency::kTable),
      m_chartTopic(context.loader, Urgency::kTable),
      m_tableTopic(context.loader, Urgency::kTable) {
    setUp(buildContent(), entry().icon, tr("What does communication cost?"),
          tr("Open a recording or start a run on two ranks or more: this page then says how much "
             "of a step is blocked in communication, which collective sticks out, and for whom "
             "the ranks wait."),
          {{0, 0.02, 0.68, 0.34},
           {0.72, 0.02, 0.28, 0.34},
           {0, 0.42, 0.48, 0.26},
           {0.52, 0.42, 0.48, 0.26},
           {0, 0.74, 1, 0.24}},
          true);
}

std::vector<Page::KeyNote> CommunicationPage::keyNotes() const {
    return {{tr("Left, Right"), tr("in the columns: layer and kind before, after")},
            {tr("Enter"), tr("on a column: its collectives alone; in the table: Timeline")}};
}

QWidget* CommunicationPage::buildContent() {
    auto* content = new QWidget(this);
    auto* layout = column(content);
    layout->setSpacing(kGapPage);
    auto* top = new QHBoxLayout;
    top->setSpacing(32);
    top->addWidget(buildLayers(content), 5);
    top->addWidget(buildSide(content), 2);
    layout->addLayout(top);
    layout->addWidget(buildPictures(content));
    layout->addWidget(buildTable(content));
    layout->addStretch();
    connectTable();
    return content;
}

QWidget* CommunicationPage::buildLayers(QWidget* parent) {
    auto* block = new QWidget(parent);
    auto* layout = column(block);
    m_columns = new ColumnChart(block);
    m_columns->setFixedHeight(256);
    connect(m_columns, &ColumnChart::columnActivated, this, &CommunicationPage::chooseColumn);
    connect(m_columns, &ColumnChart::hovered, this, &RecordingPage::hoverChanged);
    m_legend = new Legend(block);
    m_layerNote = quietLabel({}, block);
    layout->addWidget(sectionLabel(tr("Hidden, exposed and waiting, by layer"), block));
    layout->addWidget(m_columns);
    layout->addWidget(m_legend);
    layout->addWidget(m_layerNote);
    layout->addStretch();
    return block;
}

QWidget* CommunicationPage::buildSide(QWidget* parent) {
    auto* side = new QWidget(parent);
    side->setMinimumWidth(328);
    auto* layout = column(side);
    m_reasons = new DataTable(tr("Why communication is exposed"), side);
    m_reasons->setFitsRows(true);
    m_reasonWords = quietLabel({}, side);
    layout->addWidget(sectionLabel(tr("Why it is exposed"), side));
    layout->addWidget(m_reasonWords);
    layout->addWidget(m_reasons);
    layout->addStretch();
    return side;
}

QWidget* CommunicationPage::buildSkew(QWidget* parent) {
    auto* block = new QWidget(parent);
    auto* layout = column(block);
    m_skew = new DataTable(tr("Which rank comes last"), block);
    m_skew->setFitsRows(true);
    m_skewWords = quietLabel({}, block);
    connect(m_skew, &DataTable::rowActivated, this, [this](int row) {
        if (!m_frame || row < 0) return;
        const auto& ranks = m_frame->communication.skew.ranks;
        if (static_cast<std::size_t>(row) < ranks.size())
            selection().selectRanks({ranks[static_cast<std::size_t>(row)].rank});
    });
    layout->addSpacing(kGap);
    layout->addWidget(sectionLabel(tr("Who comes last"), block));
    layout->addWidget(m_skewWords);
    layout->addWidget(m_skew);
    return block;
}

QWidget* CommunicationPage::buildPictures(QWidget* parent) {
    auto* pictures = new QWidget(parent);
    auto* layout = new QHBoxLayout(pictures);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(32);
    auto* left = m_left = new QVBoxLayout;
    left->setSpacing(kGap);
    m_bandwidth = new QComboBox(pictures);
    m_bandwidth->addItems({tr("bus bandwidth"), tr("algorithm bandwidth")});
    m_bandwidth->setAccessibleName(tr("Which bandwidth is shown"));
    connect(m_bandwidth, &QComboBox::currentIndexChanged, this, &CommunicationPage::askForChart);
    m_chart = new ChartPanel(pictures);
    m_chart->setLogarithmic(true, true);
    m_chart->setKibibytes(true);
    m_chart->setWholeNumbers(false);
    left->addLayout(titleRow(sectionLabel(tr("Size against bandwidth"), pictures), {m_bandwidth}));
    left->addWidget(m_chart);
    left->addStretch();
    auto* right = m_right = new QVBoxLayout;
    right->setSpacing(kGap);
    m_heat = new HeatMap(pictures);
    m_heat->setTitles(tr("step"), tr("rank"), tr("of the step spent waiting"));
    connect(m_heat, &HeatMap::cellActivated, this, &CommunicationPage::selectCell);
    connect(m_heat, &HeatMap::hovered, this, &RecordingPage::hoverChanged);
    m_heatWords = quietLabel({}, pictures);
    right->addWidget(sectionLabel(tr("Waiting for the slowest rank, by rank and step"), pictures));
    right->addWidget(m_heat);
    right->addWidget(m_heatWords);
    m_skewBlock = buildSkew(pictures);
    right->addWidget(m_skewBlock);
    right->addStretch();
    layout->addLayout(left, 1);
    layout->addLayout(right, 1);
    return pictures;
}

QWidget* CommunicationPage::buildTable(QWidget* parent) {
    auto* block = new QWidget(parent);
    auto* layout = column(block);
    m_caption = quietLabel({}, block);
    m_caption->setWordWrap(false);
    m_all = new QPushButton(block);
    m_all->setAccessibleName(tr("Show all collectives"));
    m_all->setToolTip(tr("Show the collectives of all kinds and layers again."));
    m_all->hide();
    m_filter = new QLineEdit(block);
    m_filter->setPlaceholderText(tr("Filter"));
    m_filter->setAccessibleName(tr("Filter the collectives"));
    m_filter->setToolTip(tr("Words that a row must have, among all collectives"));
    m_filter->setFixedWidth(168);
    m_show = new QPushButton(tr("Show in Timeline"), block);
    m_show->setToolTip(tr("Select the time of the collective, and look at it there."));
    m_show->setEnabled(false);
    m_table = new DataTable(tr("Collectives"), block);
    m_table->setFixedHeight(kTableHeight);
    m_unknown = quietLabel({}, block);
    auto* title = titleRow(sectionLabel(tr("Collectives"), block), {m_all, m_filter, m_show});
    title->insertWidget(1, m_caption);
    layout->addLayout(title);
    layout->addWidget(m_table);
    layout->addWidget(m_unknown);
    return block;
}

void CommunicationPage::connectTable() {
    connect(m_all, &QPushButton::clicked, this, &CommunicationPage::chooseAll);
    connect(m_filter, &QLineEdit::textChanged, this, &CommunicationPage::askForTable);
    connect(m_table, &DataTable::rowActivated, this, &CommunicationPage::showInTimeline);
    connect(m_table, &DataTable::rowPicked, this, [this] { m_show->setEnabled(true); });
    connect(m_table, &DataTable::menuOpens, this, [this](QMenu* menu, int row) {
        menu->addSeparator();
        connect(menu->addAction(tr("Show in Timeline")), &QAction::triggered, this,
                [this, row] { showInTimeline(row); });
    });
    connect(m_show, &QPushButton::clicked, this, [this] {
        const QModelIndex current = m_table->currentIndex();
        if (current.isValid()) showInTimeline(m_table->table()->sourceRow(current.row()));
    });
}

bool CommunicationPage::presentNothing() {
    const auto nothing = noCommunicationAtAll(part());
    if (!nothing) return false;
    m_topic.forget();
    m_asked.reset();
    forgetFrame();
    pageFrame().setHeadline(nothing->title + u'.', {});
    pageFrame().showNothing(nothing->title, nothing->text);
    return true;
}

void CommunicationPage::present() {
    if (!hasPart() || presentNothing()) return;
    if (pageFrame().state() == PageFrame::State::kNothing)
        pageFrame().showState(PageFrame::State::kFull);
    if (m_asked == currentPart()) return;
    m_asked = currentPart();
    if (m_frame && m_frame->part->recording->path != m_asked->recording->path) forgetFrame();
    // what was read of another selection stays until the new is there, under its own sentence
    if (!m_frame) pageFrame().setHeadline(communicationHeadline(part()), overlapSentence(part()));
    m_topic.ask(
        [wanted = m_asked](auto& reader, const auto&, const auto& generation) {
            storage::CancellableReader cancellable(reader, generation);
            return loadCommunicationFrame(cancellable, wanted);
        },
        [this](const CommunicationFramePtr& frame) { showFrame(frame); });
}

void CommunicationPage::forgetFrame() {
    m_frame.reset();
    m_kind.reset();
    m_rows.clear();
    m_chartTopic.forget();
    m_tableTopic.forget();
}

void CommunicationPage::showFrame(const CommunicationFramePtr& frame) {
    m_frame = frame;
    if (m_kind && !frame->communication.byLayer.contains(*m_kind)) m_kind.reset();
    const QString sentences =
        QStringList{overlapSentence(*frame->part), reasonSentence(*frame)}.join(u' ').trimmed();
    pageFrame().setHeadline(communicationHeadline(*frame->part), sentences);
    presentLayers();
    presentSide();
    presentWaiting();
    askForChart();
    askForTable();
    m_unknown->setText(unknownText(*frame));
    m_unknown->setVisible(!m_unknown->text().isEmpty());
}

void CommunicationPage::presentLayers() {
    const auto& sums = m_frame->communication.byLayer;
    const std::size_t rankSteps = m_frame->communication.rankSteps;
    m_layers = layerColumns(sums, rankSteps, m_kind);
    m_columns->setTitles(
        (rankSteps == 0 ? tr("%1, all ranks together") : tr("%1 per step, mean of ranks and steps"))
            .arg(m_layers.unit),
        tr("layer"));
    m_columns->setGroups(m_layers.groups);
    m_columns->setVisible(!sums.empty());
    const bool modelled = !modelledLinkText(*m_frame->part->recording).isEmpty();
    m_columns->setModelled(modelled);
    std::vector<LegendEntry> legend = m_layers.legend;
    if (modelled) legend.push_back({tr("modelled link"), Meaning::kNone});
    m_legend->setEntries(std::move(legend));
    m_layerNote->setText(
        !m_frame->part->report->overlap.computeKnown
            ? tr("What is hidden and exposed is %1.").arg(noOverlapText(*m_frame->part))
        : sums.empty()
            ? tr("No collectives of steps in the selection: kernels do not say which "
                 "collective they belong to, or there are none.")
            : tr("Each collective by itself and on each of its ranks; two at once both count. "
                 "Click a column for its collectives."));
}

void CommunicationPage::presentSide() {
    TableRows reasons = reasonRows(m_frame->communication.reasons);
    m_reasons->setVisible(!reasons.empty());
    m_reasonWords->setVisible(reasons.empty());
    m_reasonWords->setText(
        !m_frame->part->report->overlap.computeKnown
            ? tr("What is hidden and exposed is %1.").arg(noOverlapText(*m_frame->part))
        : m_frame->communication.byLayer.empty() ? tr("No collectives of steps in the selection.")
                                                 : tr("Nothing is exposed."));
    m_reasons->setTable(reasonColumns(), std::move(reasons));
    const auto& skew = m_frame->communication.skew;
    QString words = skewSentence(*m_frame);
    if (skew.ranks.size() > kMostLastComers)
        words += u' ' + tr("The first %1 of %2 ranks:")
                            .arg(kMostLastComers)
                            .arg(formatCount(static_cast<std::int64_t>(skew.ranks.size())));
    m_skewWords->setText(words);
    m_skew->setVisible(!skew.ranks.empty());
    m_skew->setTable(skewColumns(), skewRows(skew));
    // a tall heat map leaves room below the other picture
    const bool tall = m_frame->waitingAxes.ranks.size() > kMostRankBars;
    (tall ? m_right : m_left)->removeWidget(m_skewBlock);
    (tall ? m_left : m_right)->insertWidget(tall ? 2 : 3, m_skewBlock);
}

void CommunicationPage::presentWaiting() {
    m_heat->setVisible(m_frame->waiting.has_value());
    if (m_frame->waiting) m_heat->setMap(*m_frame->waiting);
    const SelectedPart& of = *m_frame->part;
    QString words =
        tr("Share of a step in which its step thread was blocked before the last rank "
           "had arrived. Click a cell for its rank and step.");
    if (!knowsWaiting(of))
        words =
            tr("Waiting and transfer time cannot be separated: when the other ranks arrived is "
               "not recorded.");
    else if (of.report->ledger.empty())
        words = tr("Not recorded: what steps were spent on is not in the selection.");
    else if (!m_frame->waiting)
        words = tr("The selection contains no collectives.");
    m_heatWords->setText(words);
}

/// Of a long run these are more points than one goes through within a frame.
void CommunicationPage::askForChart() {
    if (!m_frame) return;
    const auto bandwidth =
        m_bandwidth->currentIndex() == 0 ? Bandwidth::kBus : Bandwidth::kAlgorithm;
    m_chartTopic.ask(
        [frame = m_frame, bandwidth](const auto&, const auto&,
                                     const auto&) -> Result<std::shared_ptr<BandwidthChart>> {
            return std::make_shared<BandwidthChart>(
                bandwidthChart(frame->communication, *frame->part->recording, bandwidth));
        },
        [this](const std::shared_ptr<BandwidthChart>& chart) { showChart(*chart); });
}

void CommunicationPage::showChart(const BandwidthChart& chart) {
    m_chart->setTitles(chart.title, chart.unit, chart.bottomTitle);
    m_chart->setDefinition(chart.definition);
    m_chart->setEmptyText(chart.empty);
    m_chart->setSeries(chart.series);
    m_chart->setMarks({}, chart.peaks);
    m_chart->setFixedHeight(chart.series.empty() ? kEmptyHeight : kChartHeight);
}

void CommunicationPage::askForTable() {
    if (!m_frame) return;
    m_tableTopic.ask(
        [frame = m_frame, kind = m_kind, filter = m_filter->text()](
            const auto&, const auto&, const auto&) -> Result<std::shared_ptr<CollectiveTable>> {
            auto table = std::make_shared<CollectiveTable>(collectiveTable(*frame, kind, filter));
            // neither a trace nor a program says layers, and a trace cannot be recorded again
            if (!frame->part->recording->isOwn()) dropUnknownColumns(table->columns, table->rows);
            return table;
        },
        [this](const std::shared_ptr<CollectiveTable>& table) { showTable(std::move(*table)); });
}

void CommunicationPage::showTable(CollectiveTable table) {
    m_caption->setText(collectiveCaption(table));
    m_table->setAccessibleDescription(m_caption->text());
    m_rows = std::move(table.transfers);
    m_table->setTable(std::move(table.columns), std::move(table.rows));
    m_show->setEnabled(false);
    m_all->setVisible(m_kind.has_value());
    if (m_kind) m_all->setText(tr("Only %1  ✕").arg(kindText(*m_kind)));
    // of what a click has led to
    if (std::exchange(m_seeksTable, false)) pageFrame().bringIntoSight(*m_filter, kFirstRows);
}

void CommunicationPage::chooseColumn(int group, int column) {
    if (!m_frame || group < 0 || static_cast<std::size_t>(group) >= m_layers.kinds.size()) return;
    const auto& kinds = m_layers.kinds[static_cast<std::size_t>(group)];
    if (column < 0 || static_cast<std::size_t>(column) >= kinds.size()) return;
    const analysis::ExposureKind kind = kinds[static_cast<std::size_t>(column)];
    m_kind = m_kind == kind ? std::nullopt : std::optional(kind);
    m_seeksTable = m_kind.has_value();
    presentLayers();
    askForTable();
}

void CommunicationPage::chooseAll() {
    m_kind.reset();
    if (!m_frame) return;
    presentLayers();
    askForTable();
}

void CommunicationPage::selectCell(int row, int column) {
    if (!m_frame) return;
    const LedgerHeat& axes = m_frame->waitingAxes;
    if (static_cast<std::size_t>(row) >= axes.ranks.size() ||
        static_cast<std::size_t>(column) >= axes.steps.size())
        return;
    const StepIndex step = axes.steps[static_cast<std::size_t>(column)];
    Selection wanted;
    wanted.steps = StepSpan{step, step};
    wanted.ranks = {axes.ranks[static_cast<std::size_t>(row)]};
    selection().select(wanted);
}

void CommunicationPage::showInTimeline(int row) {
    if (!m_frame || row < 0 || static_cast<std::size_t>(row) >= m_rows.size()) return;
    const std::size_t place = m_rows[static_cast<std::size_t>(row)];
    Selection wanted;
    const analysis::Transfer& transfer = m_frame->communication.transfers[place];
    wanted.range = rangeAround(transfer, recording().bounds());
    wanted.ranks = selection().current().ranks;
    const CollectiveKey key{transfer.group, transfer.sequence};
    const TimeRange range = transfer.range;
    const auto late = transfer.late;
    showElsewhere(page_ids::kTimeline, wanted);
    Q_EMIT pointRequested(page_ids::kTimeline, {key, range, late});
}

}  // namespace shardscope::desktop
