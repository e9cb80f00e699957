// The Efficiency page: its figures are those of the questions, each state is told in words, and a
// click narrows.
#include "app/desktop/pages/efficiency/efficiency_page.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/training_figures.h"
#include "app/desktop/pages/efficiency/scaling_panel.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/pictures/column_chart.h"
#include "storage/recording/read/recording_reader.h"
#include "tests/app/desktop/small_trace.h"
#include "tests/app/desktop/window_fixture.h"

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using questions::Answer;
using questions::Cell;

Answer partsAnswer(const Cell& shareOfForward) {
    Answer answer;
    answer.tables.push_back({"all_parts",
                             "",
                             {{"phase", ""},
                              {"layer", ""},
                              {"flops_per_s", "", questions::Unit::kFlops},
                              {"peak_pct", "", questions::Unit::kOfPeak}},
                             {{"forward", Cell(), 2e9, shareOfForward},
                              {"head", Cell(), 3e9, Cell()},
                              {"backward", Cell(), 4e9, Cell()},
                              {"forward", std::int64_t{0}, 1e9, Cell()},
                              {"backward", std::int64_t{0}, Cell(), Cell()}}});
    return answer;
}

TEST(VariantName, IsWhatPeopleCallItWithItsSource) {
    EXPECT_EQ(variantName(u"palm"_s), u"PaLM"_s);
    EXPECT_EQ(variantName(u"operators"_s), u"operators"_s) << "others as they are";
    EXPECT_TRUE(variantTip(u"megnow"_s).contains(u"Megatron-LM"_s));
}

TEST(PartColumns, StandByBlockUnderTheirPeak) {
    const PartColumns shown = partColumns(partsAnswer(50.0));
    EXPECT_EQ(shown.unit, u"GFLOP/s"_s);
    ASSERT_EQ(shown.groups.size(), 3u);
    EXPECT_EQ(shown.groups[0].label, u"all blocks"_s);
    ASSERT_EQ(shown.groups[0].columns.size(), 2u) << "forward and backward side by side";
    EXPECT_DOUBLE_EQ(shown.groups[0].columns[1].sum(), 4);
    EXPECT_TRUE(shown.groups[0].columns[0].segments[0].pale);
    EXPECT_EQ(shown.groups[1].label, u"head"_s);
    ASSERT_EQ(shown.groups[2].columns.size(), 1u) << "a speed that is not known has no column";
    ASSERT_EQ(shown.peak.size(), 1u);
    EXPECT_DOUBLE_EQ(shown.peak[0].value, 4) << "2 are half of it";
    const PartColumns chosen = partColumns(partsAnswer(50.0), shown.parts[2][0]);
    EXPECT_FALSE(chosen.groups[0].columns[0].emphasised);
    EXPECT_TRUE(chosen.groups[2].columns[0].emphasised);
}

TEST(PartColumns, SayWhenThePeakIsNotKnownOrPassed) {
    const PartColumns unknown = partColumns(partsAnswer(Cell()));
    EXPECT_TRUE(unknown.peak.empty());
    EXPECT_TRUE(unknown.note.contains(u"peak is not known"_s));
    EXPECT_TRUE(partColumns(partsAnswer(140.0)).note.contains(u"take turns"_s));
    EXPECT_FALSE(partColumns(partsAnswer(50.0)).note.contains(u"take turns"_s));
    EXPECT_TRUE(partColumns(Answer()).groups.empty());
}

TEST(MfuVariants, OfProgramsTheFirstIsShown) {
    Answer answer;
    EXPECT_EQ(findVariant(mfuVariants(answer), u"palm"_s), nullptr);
    answer.tables.push_back(
        {"variants",
         "",
         {{"variant", ""},
          {"flops_per_token", ""},
          {"flops_per_step", ""},
          {"flops_per_s", ""},
          {"mfu_pct", ""}},
         {{"operators", Cell(), 3e6, 1e8, 25.0}, {"6N", 9e3, Cell(), 2e8, 50.0}}});
    const auto variants = mfuVariants(answer);
    const MfuVariant* shown = findVariant(variants, u"palm"_s);
    ASSERT_NE(shown, nullptr);
    EXPECT_EQ(shown->word, u"operators"_s);
    EXPECT_DOUBLE_EQ(shown->mfu.value_or(0), 0.25);
    EXPECT_EQ(findVariant(variants, u"6N"_s)->flopsPerToken, 9e3);
}

TEST(GoodputBar, AddsUpToTheWallTime) {
    EXPECT_FALSE(goodputBar(Answer()));
    Answer answer;
    answer.tables.push_back({"time",
                             "",
                             {{"item", ""}, {"time_ns", ""}},
                             {{"goodput", std::int64_t{3'000'000'000}},
                              {"start", std::int64_t{500'000'000}},
                              {"between_steps", std::int64_t{500'000'000}}}});
    const auto shown = goodputBar(answer);
    ASSERT_TRUE(shown);
    EXPECT_DOUBLE_EQ(shown->bar.sum(), 4);
    EXPECT_EQ(shown->bar.total, formatDuration({4'000'000'000}));
    EXPECT_EQ(shown->bar.segments[2].name, u"between steps"_s);
    EXPECT_EQ(shown->legend.size(), 2u) << "what is outside of steps has one colour";
}

TEST(ScalingCharts, DrawWhatIsMeasuredAndWhatWouldBeIdeal) {
    Answer answer;
    answer.tables.push_back({"recordings",
                             "",
                             {{"ranks", ""},
                              {"tokens_per_s", ""},
                              {"efficiency_pct", ""},
                              {"low_pct", ""},
                              {"high_pct", ""}},
                             {{std::int64_t{1}, 100.0, 100.0, Cell(), Cell()},
                              {std::int64_t{2}, 150.0, 75.0, 70.0, 80.0},
                              {std::int64_t{4}, Cell(), Cell(), Cell(), Cell()}}});
    const ScalingCharts charts = scalingCharts(answer);
    ASSERT_EQ(charts.efficiency.size(), 1u);
    EXPECT_EQ(charts.efficiency[0].points, (QVector<QPointF>{{1, 100}, {2, 75}}));
    ASSERT_EQ(charts.interval.size(), 1u);
    EXPECT_EQ(charts.interval[0].low, (QVector<QPointF>{{1, 100}, {2, 70}}));
    EXPECT_EQ(charts.interval[0].high, (QVector<QPointF>{{1, 100}, {2, 80}}));
    ASSERT_EQ(charts.throughput.size(), 2u);
    EXPECT_EQ(charts.throughput[1].points.back(), QPointF(2, 200)) << "twice one rank";
    EXPECT_TRUE(charts.throughput[1].dashed);
    EXPECT_TRUE(scalingCharts(Answer()).throughput.empty());
}

class EfficiencyPageTest : public WindowTest {
protected:
    [[nodiscard]] EfficiencyPage& page() {
        return *qobject_cast<EfficiencyPage*>(m_window->page(page_ids::kEfficiency));
    }
    void open(const test::SampleOptions& options = {}) {
        m_window->showPage(page_ids::kEfficiency);
        openSample(options);
        settleWhole();
    }
    /// The part is read before what is told of it.
    void settleWhole() {
        for (int round = 0; round < 3; ++round) settle();
        ASSERT_TRUE(QTest::qWaitFor([this] { return !page().isReading(); }, 20'000));
        QTest::qWait(1);
    }
    [[nodiscard]] DataTable* table(const QString& name) {
        for (auto* each : page().findChildren<DataTable*>())
            if (each->accessibleName() == name) return each;
        return nullptr;
    }
    [[nodiscard]] QPushButton* button(const QString& text) {
        for (auto* each : page().findChildren<QPushButton*>())
            if (each->text() == text && each->isVisible()) return each;
        return nullptr;
    }
    [[nodiscard]] bool says(const QString& text) {
        for (const auto* label : page().findChildren<QLabel*>())
            if (label->isVisible() && label->text().contains(text)) return true;
        return false;
    }
    [[nodiscard]] QString headline() { return page().frame().headline(); }
};

TEST_F(EfficiencyPageTest, BeginsWithMfuItsVariantAndItsPeak) {
    open();
    const Answer& answer = page().shown()->answer;
    const auto variants = mfuVariants(answer);
    ASSERT_EQ(variants.size(), 9u);
    const MfuVariant* palm = findVariant(variants, u"palm"_s);
    ASSERT_NE(palm, nullptr);
    ASSERT_TRUE(palm->mfu);
    EXPECT_TRUE(headline().startsWith(formatPercent(*palm->mfu) + u" MFU (PaLM): "_s));
    EXPECT_TRUE(
        headline().contains(formatSi(*page().shown()->part->report->mfu.peakFlops, u"FLOP/s"_s)));
    EXPECT_TRUE(headline().endsWith(u", measured"_s)) << headline().toStdString();
    EXPECT_TRUE(table(u"MFU by every way to count"_s)->isVisible());
    EXPECT_EQ(table(u"Peaks of matrix products"_s)->table()->rowCount(), 2);
    EXPECT_FALSE(table(u"Energy of each rank's device"_s)->isVisible());
    EXPECT_TRUE(says(u"Joules per token unknown"_s));
    keepPicture(u"efficiency"_s);
}

TEST_F(EfficiencyPageTest, AnotherVariantScalesHeadlineAndCurve) {
    open();
    const auto palm = mfuBySteps(*page().shown(), u"palm"_s);
    ASSERT_FALSE(palm.isEmpty());
    // a row of the table chooses, and so does the box
    const auto variants = mfuVariants(page().shown()->answer);
    Q_EMIT table(u"MFU by every way to count"_s)->rowPicked(0);
    EXPECT_EQ(page().variant(), u"6N"_s);
    EXPECT_TRUE(headline().startsWith(formatPercent(*variants[0].mfu) + u" MFU (6N)"_s));
    auto* box = page().findChild<QComboBox*>();
    EXPECT_EQ(box->currentText(), u"6N"_s);
    const auto curve = mfuBySteps(*page().shown(), u"6N"_s);
    ASSERT_EQ(curve.size(), palm.size());
    const double ratio = *variants[0].mfu / *findVariant(variants, u"palm"_s)->mfu;
    EXPECT_NEAR(curve[0].y() / palm[0].y(), ratio, 1e-9);
    Q_EMIT box->activated(box->findText(u"exact"_s));
    EXPECT_TRUE(headline().contains(u"MFU (exact)"_s));
}

TEST_F(EfficiencyPageTest, AColumnListsItsRanksAndARowSelectsOne) {
    test::SampleOptions options;
    options.ranks = 4;
    open(options);
    DataTable* ranks = table(u"Matrix products by rank, phase and layer"_s);
    const int all = ranks->table()->rowCount();
    auto* columns = page().findChild<ColumnChart*>();
    const QPoint at = columns->columnAt(0, 0).center().toPoint();
    ASSERT_FALSE(columns->columnAt(0, 0).isNull());
    QTest::mouseClick(columns, Qt::LeftButton, {}, at);
    EXPECT_EQ(ranks->table()->rowCount(), 4) << "one part of four ranks, of " << all;
    QTest::mouseClick(columns, Qt::LeftButton, {}, at);
    EXPECT_EQ(ranks->table()->rowCount(), all);
    QTest::mouseClick(columns, Qt::LeftButton, {}, at);
    Q_EMIT ranks->rowPicked(2);
    settleWhole();
    ASSERT_EQ(m_window->selection().current().ranks, std::vector<RankId>{RankId{2}});
    EXPECT_EQ(ranks->table()->rowCount(), 1);
    EXPECT_EQ(table(u"Peaks of matrix products"_s)->table()->rowCount(), 1);
}

TEST_F(EfficiencyPageTest, SixtyFourRanksAreOneColumnEach) {
    test::SampleOptions options;
    options.ranks = 64, options.steps = 4, options.memory = false, options.operators = false;
    open(options);
    EXPECT_TRUE(headline().contains(u"MFU (PaLM)"_s)) << headline().toStdString();
    EXPECT_EQ(table(u"Peaks of matrix products"_s)->table()->rowCount(), 64);
    const PartColumns shown = partColumns(page().shown()->answer);
    std::size_t columns = 0;
    for (const ColumnGroup& group : shown.groups) columns += group.columns.size();
    EXPECT_EQ(columns * 64, findTable(page().shown()->answer, "parts")->rows.size());
    keepPicture(u"efficiency_64"_s);
}

TEST_F(EfficiencyPageTest, WithoutAPeakItSaysFlopsAndWhy) {
    test::SampleOptions options;
    options.peakKnown = false;
    open(options);
    EXPECT_TRUE(headline().contains(u"FLOP/s (PaLM); MFU unknown: "_s)) << headline().toStdString();
    EXPECT_TRUE(says(u"The peak is not known"_s));
    EXPECT_TRUE(mfuBySteps(*page().shown(), u"palm"_s).isEmpty());
}

TEST_F(EfficiencyPageTest, AnImportedTraceSaysWhatIsMissing) {
    writeSmallTrace(m_folder.filePath(u"trace.json"_s).toStdString());
    m_window->showPage(page_ids::kEfficiency);
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    m_window->openFile(m_folder.filePath(u"trace.json"_s));
    ASSERT_TRUE(QTest::qWaitFor([this] { return page().shown() != nullptr; }, 20'000));
    settleWhole();
    EXPECT_EQ(page().frame().state(), PageFrame::State::kNothing);
    EXPECT_TRUE(says(u"MFU unknown"_s));
    EXPECT_TRUE(says(u"FLOPs are not known"_s));
    // a recording that says more is full again
    open();
    EXPECT_EQ(page().frame().state(), PageFrame::State::kFull);
}

TEST_F(EfficiencyPageTest, OfSelectedStepsGoodputCannotBeTold) {
    open();
    EXPECT_TRUE(goodputBar(page().shown()->answer));
    Q_EMIT page().findChild<ChartPanel*>()->activated(3);
    settleWhole();
    EXPECT_FALSE(goodputBar(page().shown()->answer));
    EXPECT_TRUE(says(u"Goodput unknown"_s));
    EXPECT_FALSE(table(u"Where the wall time of all ranks went"_s)->isVisible());
}

TEST_F(EfficiencyPageTest, OfGpusItHasEnergyAndTheVendorsPeak) {
    test::SampleOptions options;
    options.gpu = true;
    open(options);
    EXPECT_TRUE(headline().endsWith(u", the vendor's peak"_s)) << headline().toStdString();
    EXPECT_EQ(table(u"Energy of each rank's device"_s)->table()->rowCount(), 2);
    EXPECT_FALSE(page().findChild<ColumnChart*>()->isVisible());
    EXPECT_TRUE(says(u"Speed of phases and layers unknown"_s));
    keepPicture(u"efficiency_gpu"_s);
}

TEST_F(EfficiencyPageTest, ScalingNeedsOthersAndIsThatOfTheQuestion) {
    open();
    EXPECT_FALSE(page().scaling().shown());
    EXPECT_TRUE(says(u"Unknown from one recording alone"_s));
    EXPECT_NE(button(u"Add recordings…"_s), nullptr);
    const QString alone = m_folder.filePath(u"one.sscope"_s);
    test::SampleOptions options;
    options.ranks = 1;
    ASSERT_TRUE(test::writeSampleRecording(alone.toStdString(), options));
    m_window->compared().add(alone);
    settleWhole();
    ASSERT_TRUE(page().scaling().shown());
    const ScalingFrame& frame = *page().scaling().shown();
    ASSERT_TRUE(frame.refusals.isEmpty()) << frame.refusals.join(u' ').toStdString();
    const Answer& answer = frame.answer;
    EXPECT_STREQ(answer.question, "scaling");
    EXPECT_EQ(findTable(answer, "recordings")->rows.size(), 2u);
    EXPECT_EQ(scalingCharts(answer).throughput.front().points.size(), 2);
    EXPECT_TRUE(table(u"Throughput and efficiency by number of ranks"_s)->isVisible());
    EXPECT_EQ(button(u"Show anyway"_s), nullptr);
    m_window->compared().add(u"/nowhere.sscope"_s);
    settleWhole();
    EXPECT_FALSE(page().scaling().shown());
    EXPECT_TRUE(says(u"nowhere"_s));
    m_window->compared().set({});
    EXPECT_TRUE(says(u"Unknown from one recording alone"_s));
}

TEST_F(EfficiencyPageTest, OtherWorkIsRefusedUntilOneInsists) {
    open();
    const QString other = m_folder.filePath(u"other.sscope"_s);
    test::SampleOptions options;
    options.ranks = 1, options.blocks = 3;
    ASSERT_TRUE(test::writeSampleRecording(other.toStdString(), options));
    m_window->compared().add(other);
    settleWhole();
    ASSERT_TRUE(page().scaling().shown());
    EXPECT_FALSE(page().scaling().shown()->refusals.isEmpty());
    EXPECT_TRUE(says(u"do not scale the same work"_s));
    ASSERT_NE(button(u"Show anyway"_s), nullptr);
    button(u"Show anyway"_s)->click();
    settleWhole();
    EXPECT_TRUE(page().scaling().shown()->refusals.isEmpty());
    EXPECT_NE(findTable(page().scaling().shown()->answer, "recordings"), nullptr);
}

}  // namespace
}  // namespace shardscope::desktop
