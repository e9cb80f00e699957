// Communication: its words and pictures as plain values, and the page by mouse and keys.
#include "app/desktop/pages/communication/collective_table.h"
#include "app/desktop/pages/communication/communication_page.h"
#include "app/desktop/pages/communication/communication_texts.h"
#include "app/desktop/pages/communication/layer_columns.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/pictures/column_chart.h"
#include "app/desktop/widgets/pictures/heat_map.h"
#include "tests/app/desktop/small_trace.h"
#include "tests/app/desktop/window_fixture.h"

#include <QApplication>
#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <QWheelEvent>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::ExposureKind;
using analysis::ExposureSum;
using analysis::Transfer;

ExposureSum sum(std::int64_t hidden, std::int64_t waiting, std::int64_t moving) {
    ExposureSum each;
    each.count = 1;
    each.hidden = {hidden};
    each.waiting = {waiting};
    each.moving = {moving};
    each.whole = {hidden + waiting + moving};
    return each;
}

constexpr std::int64_t kMs = 1'000'000;

TEST(LayerColumns, StandInTheOrderOfTheModelWithKindsSideBySide) {
    const LayerSums sums{{{kNoLayer, CollectiveOp::kAllReduce}, sum(0, 1 * kMs, 2 * kMs)},
                         {{{1}, CollectiveOp::kAllGather}, sum(5 * kMs, 0, 6 * kMs)},
                         {{{1}, CollectiveOp::kReduceScatter}, sum(4 * kMs, 3 * kMs, 0)},
                         {{{10}, CollectiveOp::kAllGather}, sum(5 * kMs, 0, 5 * kMs)},
                         {{kRootLayer, CollectiveOp::kAllGather}, sum(20 * kMs, 0, 0)}};
    const LayerColumns shown = layerColumns(sums, 0);
    ASSERT_EQ(shown.groups.size(), 4u);
    EXPECT_EQ(shown.groups[0].label, u"embedding, head"_s);
    EXPECT_EQ(shown.groups[1].label, u"1"_s);
    EXPECT_EQ(shown.groups[2].label, u"10"_s);
    EXPECT_EQ(shown.groups[3].label, u"no layer"_s);
    EXPECT_EQ(shown.unit, u"ms"_s);
    ASSERT_EQ(shown.groups[1].columns.size(), 2u);
    const StackedBar& scatter = shown.groups[1].columns[1];
    EXPECT_DOUBLE_EQ(scatter.sum(), 7);
    EXPECT_EQ(scatter.segments[0].meaning, Meaning::kWaitReduction);
    EXPECT_TRUE(scatter.segments.back().pale);
    EXPECT_EQ(shown.kinds[1][1], (ExposureKind{{1}, CollectiveOp::kReduceScatter}));
}

TEST(LayerColumns, AreTheMeanOfAStepOfARank) {
    const LayerSums sums{{{{1}, CollectiveOp::kAllGather}, sum(600 * kMs, 0, 200 * kMs)}};
    const StackedBar bar = layerColumns(sums, 200).groups[0].columns[0];
    EXPECT_DOUBLE_EQ(bar.sum(), 4);
    EXPECT_EQ(layerColumns(sums, 200).unit, u"ms"_s);
    EXPECT_EQ(bar.segments.back().text, u"3.00\u2009ms per step"_s);
    EXPECT_EQ(bar.total, u"4.00\u2009ms per step; 800\u2009ms in all, 1 collective on all ranks"_s);
}

TEST(LayerColumns, WhereWaitingIsNotKnownNoneIsDrawn) {
    LayerSums sums{{{{0}, CollectiveOp::kAllGather}, sum(1 * kMs, 0, 2 * kMs)}};
    sums.begin()->second.waitingKnown = false;
    const LayerColumns shown = layerColumns(sums, 0);
    for (const BarSegment& segment : shown.groups[0].columns[0].segments)
        EXPECT_FALSE(segment.name.contains(u"waiting"_s) || segment.name.contains(u"moving"_s));
    for (const LegendEntry& entry : shown.legend) EXPECT_FALSE(entry.text.contains(u"waiting"_s));
}

TEST(LayerColumns, TheChosenOneStandsOut) {
    const LayerSums sums{{{{0}, CollectiveOp::kAllGather}, sum(1, 0, 2)},
                         {{{1}, CollectiveOp::kAllGather}, sum(1, 0, 2)}};
    const LayerColumns shown = layerColumns(sums, 0, ExposureKind{{1}, CollectiveOp::kAllGather});
    EXPECT_FALSE(shown.groups[0].columns[0].emphasised);
    EXPECT_TRUE(shown.groups[1].columns[0].emphasised);
}

TEST(GroupText, NamesGroupsByTheirRanks) {
    EXPECT_EQ(groupText({{0}, {8}, {16}, {24}}, 3, 32), u"ranks 0, 8, 16, …"_s);
    EXPECT_EQ(groupText({{1}, {2}}, 3, 32), u"ranks 1, 2"_s);
    EXPECT_EQ(groupText({{0}, {1}, {2}}, 0, 3), u"all 3 ranks"_s);
    EXPECT_EQ(groupText({{4}}, 2, 1), u"rank 4 and others"_s);
    EXPECT_EQ(groupText({}, 7, 3), u"group 7"_s);
    EXPECT_EQ(allMembersText({{0}, {1}, {2}, {8}}), u"ranks 0–2, 8"_s);
}

Transfer transfer(std::uint64_t sequence, std::int64_t bytes, std::int64_t ns) {
    Transfer each;
    each.operation = CollectiveOp::kAllGather;
    each.sequence = sequence;
    each.step = {0};
    each.layer = {0};
    each.size = {bytes};
    each.ranks = 2;
    each.range = {{0}, {ns}};
    each.transfer = Duration{ns};
    return each;
}

TEST(BandwidthChart, DrawsPointsThatLieOnOneAnotherOnceAndTheFit) {
    questions::Communication told;
    for (std::uint64_t i = 0; i < 1'000; ++i) told.transfers.push_back(transfer(i, 4'096, 2'000));
    told.transfers.push_back(transfer(1'000, 8'192, 3'000));
    told.classes = analysis::classesOf(told.transfers);
    const OpenRecording recording;
    const BandwidthChart bus = bandwidthChart(told, recording, Bandwidth::kBus);
    ASSERT_EQ(bus.series.size(), 2u);
    ASSERT_EQ(bus.series[0].points.size(), 2);
    EXPECT_NEAR(bus.series[0].points[0].x(), 4, 1e-9);
    EXPECT_EQ(bus.unit, u"MB/s"_s);
    EXPECT_NEAR(bus.series[0].points[0].y(), 1'000 * 0.5 * 4'096 / 2'000, 1e-6);
    // alpha 1 us, beta 1 us for 4 KiB: it passes through both
    EXPECT_NEAR(bus.series[1].points.front().y(), bus.series[0].points[0].y(), 1e-3);
    EXPECT_NEAR(bus.series[1].points.back().y(), bus.series[0].points[1].y(), 1e-3);
    ASSERT_EQ(bus.peaks.size(), 1u);
    EXPECT_TRUE(bus.peaks[0].text.startsWith(u"best seen"_s));
    const BandwidthChart algorithm = bandwidthChart(told, recording, Bandwidth::kAlgorithm);
    EXPECT_NEAR(algorithm.series[0].points[0].y(), 2 * bus.series[0].points[0].y(), 1e-6);
}

TEST(BandwidthChart, SaysWhyThereIsNoPoint) {
    questions::Communication told;
    EXPECT_TRUE(bandwidthChart(told, {}, Bandwidth::kBus).empty.startsWith(u"No collective"_s));
    told.transfers = {transfer(0, 10, 10)};
    told.transfers[0].size = kUnknownSize;
    EXPECT_TRUE(bandwidthChart(told, {}, Bandwidth::kBus)
                    .empty.contains(u"sizes of collectives were not recorded"_s));
    told.transfers[0] = transfer(0, 10, 10);
    told.transfers[0].transfer.reset();
    EXPECT_TRUE(bandwidthChart(told, {}, Bandwidth::kBus).empty.contains(u"not every rank"_s));
}

TEST(CollectiveTable, IsBoundedAndSaysOfHowMany) {
    CommunicationFrame frame;
    auto part = std::make_shared<SelectedPart>();
    part->recording = std::make_shared<OpenRecording>();
    frame.part = part;
    for (std::uint64_t i = 0; i < kMostCollectives + 5; ++i) {
        frame.communication.transfers.push_back(transfer(i, 4'096, 2'000));
        frame.longestFirst.push_back(i);
    }
    const CollectiveTable all = collectiveTable(frame, {}, {});
    EXPECT_EQ(all.rows.size(), kMostCollectives);
    EXPECT_EQ(all.all, kMostCollectives + 5);
    EXPECT_EQ(collectiveCaption(all),
              u"2,000 of 2,005 collectives, those with the longest transfers"_s);
    // the filter looks through those that are not shown as well
    const CollectiveTable one = collectiveTable(frame, {}, u"all-gather 2004"_s);
    ASSERT_EQ(one.rows.size(), 1u);
    EXPECT_EQ(one.transfers[0], kMostCollectives + 4);
    EXPECT_EQ(collectiveTable(frame, ExposureKind{{1}, CollectiveOp::kAllGather}, {}).all, 0u);
}

class CommunicationPageTest : public WindowTest {
protected:
    CommunicationPage* open(const test::SampleOptions& options = {}) {
        m_window->showPage(page_ids::kCommunication);
        openSample(options);
        return page();
    }
    CommunicationPage* page() {
        return qobject_cast<CommunicationPage*>(m_window->page(page_ids::kCommunication));
    }
    DataTable* table() {
        for (auto* each : page()->findChildren<DataTable*>())
            if (each->accessibleName() == u"Collectives"_s) return each;
        return nullptr;
    }
};

TEST_F(CommunicationPageTest, AnswersWithANumberAndItsDenominator) {
    const CommunicationPage* shown = open();
    ASSERT_TRUE(shown->shown());
    const QString headline = shown->frame().headline();
    EXPECT_TRUE(headline.contains(u"of step time is blocked in communication"_s));
    EXPECT_TRUE(headline.contains(u"2 ranks, steps 0–9"_s)) << headline.toStdString();
    EXPECT_TRUE(headline.contains(u"waiting for the slowest rank"_s));
    EXPECT_GT(shown->findChild<ChartPanel*>()->drawnPoints(), 0);
    keepPicture(u"communication"_s);
}

TEST_F(CommunicationPageTest, AColumnNarrowsTheTableToItsCollectives) {
    CommunicationPage* shown = open();
    auto* columns = shown->findChild<ColumnChart*>();
    const int all = table()->table()->allRows();
    QTest::mouseClick(columns, Qt::LeftButton, {}, columns->columnAt(1, 0).center().toPoint());
    settle();
    keepPicture(u"communication_chosen"_s);
    ASSERT_TRUE(shown->chosenKind());
    const auto kind = *shown->chosenKind();
    std::int64_t expected = 0;
    for (const Transfer& each : shown->shown()->communication.transfers)
        expected +=
            each.step != kNoStep && each.layer == kind.first && each.operation == kind.second;
    EXPECT_EQ(table()->table()->allRows(), expected);
    EXPECT_LT(expected, all);
    EXPECT_GT(expected, 0);
    QTest::mouseClick(columns, Qt::LeftButton, {}, columns->columnAt(1, 0).center().toPoint());
    settle();
    EXPECT_FALSE(shown->chosenKind());
    EXPECT_EQ(table()->table()->allRows(), all);
}

TEST_F(CommunicationPageTest, ARowLeadsToItsCollectiveInTheTimeline) {
    CommunicationPage* shown = open();
    const Transfer longest =
        shown->shown()->communication.transfers[shown->shown()->longestFirst.front()];
    Q_EMIT table()->rowActivated(0);
    settle();
    EXPECT_EQ(m_window->currentPage(), page_ids::kTimeline);
    const auto& range = m_window->selection().current().range;
    ASSERT_TRUE(range);
    EXPECT_LE(range->begin, longest.range.begin);
    EXPECT_GE(range->end, longest.range.end);
    EXPECT_LT(range->duration().ns, 2 * longest.range.duration().ns + 10'000);
    const auto* timeline = qobject_cast<TimelinePage*>(m_window->page(page_ids::kTimeline));
    const auto& hit = timeline->canvas().selectedSlice();
    ASSERT_TRUE(hit) << "and it is selected there";
    EXPECT_EQ(hit->slice.correlation,
              (CollectiveKey{longest.group, longest.sequence}.correlation()));
    EXPECT_EQ(hit->key.rank, longest.late.value_or(hit->key.rank));
    keepPicture(u"communication_jump"_s);
}

TEST_F(CommunicationPageTest, ACellOfTheHeatMapSelectsRankAndStep) {
    CommunicationPage* shown = open();
    Q_EMIT shown->findChild<HeatMap*>()->cellActivated(1, 3);
    const Selection& selected = m_window->selection().current();
    EXPECT_EQ(selected.ranks, (std::vector<RankId>{{1}}));
    EXPECT_EQ(selected.steps->first, StepIndex{3});
    settle();
    EXPECT_TRUE(shown->frame().headline().contains(u"1 rank, step 3"_s));
}

TEST_F(CommunicationPageTest, KeysGoThroughTheHeatMapToo) {
    auto* heat = open()->findChild<HeatMap*>();
    heat->setFocus();
    QSignalSpy said(heat, &HeatMap::hovered);
    QTest::keyClick(heat, Qt::Key_Return);  // on no cell yet
    EXPECT_FALSE(m_window->selection().current().steps);
    QTest::keyClick(heat, Qt::Key_Right);
    QTest::keyClick(heat, Qt::Key_Right);
    QTest::keyClick(heat, Qt::Key_Down);
    ASSERT_FALSE(said.isEmpty());
    EXPECT_TRUE(said.last()[0].toString().startsWith(u"rank 1 · step 1: "_s));
    for (int i = 0; i < 40; ++i) QTest::keyClick(heat, Qt::Key_Right);
    QTest::keyClick(heat, Qt::Key_Return);
    EXPECT_EQ(m_window->selection().current().steps->first, StepIndex{9});
    EXPECT_EQ(m_window->selection().current().ranks, (std::vector<RankId>{{1}}));
}

TEST_F(CommunicationPageTest, TheWheelScrollsThePageAndChangesNoSetting) {
    const CommunicationPage* shown = open();
    const auto boxes = shown->findChildren<QComboBox*>();
    ASSERT_FALSE(boxes.isEmpty());
    for (QComboBox* box : boxes) {
        box->clearFocus();
        const int before = box->currentIndex();
        for (const int turn : {120, -120}) {
            QWheelEvent wheel(QPointF(5, 5), box->mapToGlobal(QPointF(5, 5)), {}, {0, turn},
                              Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
            QApplication::sendEvent(box, &wheel);
            EXPECT_EQ(box->currentIndex(), before);
            EXPECT_FALSE(box->hasFocus());
        }
        EXPECT_EQ(box->focusPolicy(), Qt::StrongFocus) << "the wheel gives no focus";
    }
}

TEST_F(CommunicationPageTest, FollowsTheSelection) {
    CommunicationPage* shown = open();
    const auto all = shown->shown()->communication.transfers.size();
    m_window->selection().selectSteps({{2}, {3}});
    settle();
    EXPECT_LT(shown->shown()->communication.transfers.size(), all);
    for (const Transfer& each : shown->shown()->communication.transfers)
        EXPECT_TRUE(each.step == StepIndex{2} || each.step == StepIndex{3});
}

TEST_F(CommunicationPageTest, TheFilterFindsWords) {
    open();
    page()->findChild<QLineEdit*>()->setText(u"reduce-scatter"_s);
    settle();
    ASSERT_GT(table()->table()->allRows(), 0);
    for (int row = 0; row < table()->table()->rowCount(); ++row)
        EXPECT_EQ(table()->table()->index(row, 0).data().toString(), u"reduce-scatter"_s);
}

TEST_F(CommunicationPageTest, OneRankHasNothingToCommunicate) {
    test::SampleOptions options;
    options.ranks = 1;
    open(options);
    EXPECT_EQ(page()->frame().state(), PageFrame::State::kNothing);
    EXPECT_TRUE(page()->frame().headline().startsWith(u"One rank"_s));
    // another recording fills the page again
    openSample();
    EXPECT_EQ(page()->frame().state(), PageFrame::State::kFull);
    EXPECT_TRUE(page()->shown());
}

TEST_F(CommunicationPageTest, OfATraceOfKernelsWhatCannotBeToldIsSaid) {
    writeSmallTrace(m_folder.filePath(u"trace.json"_s).toStdString());
    m_window->showPage(page_ids::kCommunication);
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    m_window->openFile(m_folder.filePath(u"trace.json"_s));
    ASSERT_TRUE(opened.wait(10'000));
    settle();
    EXPECT_EQ(page()->frame().state(), PageFrame::State::kFull);
    EXPECT_TRUE(page()->frame().headline().endsWith(u"how much of it is waiting is unknown."_s));
    ASSERT_TRUE(page()->shown());
    EXPECT_FALSE(page()->shown()->waiting);
}

TEST_F(CommunicationPageTest, IsFullOfEveryKindOfRecordingThatCommunicates) {
    std::vector<test::SampleOptions> kinds(5);
    kinds[0].gpu = true;
    kinds[1].gpu = true, kinds[1].gpuTraced = false;
    kinds[2].finalise = false;
    kinds[3].ranks = 20, kinds[3].steps = 3;
    kinds[4].ranks = 4, kinds[4].ranksPerHost = 2;
    for (const test::SampleOptions& options : kinds) {
        open(options);
        EXPECT_EQ(page()->frame().state(), PageFrame::State::kFull);
        ASSERT_TRUE(page()->shown());
        EXPECT_GT(table()->table()->allRows(), 0);
        for (const QSize size : {QSize(1600, 1000), QSize(1024, 640)}) {
            m_window->resize(size);
            settle();
            EXPECT_EQ(m_window->grab().toImage().size(), size);
        }
    }
}

TEST_F(CommunicationPageTest, AnotherRecordingLeavesNothingOfTheOneBefore) {
    CommunicationPage* shown = open();
    auto* columns = shown->findChild<ColumnChart*>();
    QTest::mouseClick(columns, Qt::LeftButton, {}, columns->columnAt(1, 0).center().toPoint());
    settle();
    ASSERT_TRUE(shown->chosenKind());
    test::SampleOptions options;
    options.ranks = 1;
    openSample(options);
    EXPECT_FALSE(shown->shown());
    EXPECT_FALSE(shown->chosenKind());
    Q_EMIT table()->rowActivated(0);  // of the one before: leads nowhere
    EXPECT_EQ(m_window->currentPage(), page_ids::kCommunication);
}

}  // namespace
}  // namespace shardscope::desktop
