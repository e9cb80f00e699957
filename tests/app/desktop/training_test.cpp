// The Training page: what it says of selected steps, smoothing, spreads, targets, other runs.
#include "app/desktop/models/curves.h"
#include "app/desktop/models/targets.h"
#include "app/desktop/models/training_figures.h"
#include "app/desktop/pages/training/training_page.h"
#include "app/desktop/widgets/chart_panel.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/app/desktop/window_fixture.h"

#include <gmock/gmock.h>

#include <QSlider>
#include <limits>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

OpenRecording tenSteps() {
    OpenRecording recording;
    recording.summary.run.model = "tiny";
    recording.summary.run.worldSize = 2;
    for (int step = 0; step < 10; ++step) {
        const StepIndex index{step};
        recording.summary.metrics.push_back({"loss", index, {}, 5.0 - step * 0.1});
        recording.summary.metrics.push_back({"tokens_per_s", index, {}, 300});
        StepFacts facts;
        facts.step = index;
        facts.start = Timestamp{step * 1'000'000};
        facts.end = Timestamp{step * 1'000'000 + (step == 7 ? 900'000 : 100'000)};
        recording.summary.steps.push_back(facts);
    }
    recording.summary.bounds = {Timestamp{0}, Timestamp{10'000'000}};
    return recording;
}

Selection steps(int first, int last) {
    Selection selection;
    selection.steps = StepSpan{StepIndex{first}, StepIndex{last}};
    return selection;
}

TEST(Curves, SmoothingStartsWhereTheCurveDoes) {
    const QVector<QPointF> points{{0, 10}, {1, 0}, {2, 0}};
    const auto smooth = smoothed(points, 0.5);
    EXPECT_DOUBLE_EQ(smooth[0].y(), 10);
    EXPECT_NEAR(smooth[1].y(), 10.0 / 3, 1e-9);
    EXPECT_EQ(smoothed(points, 0), points);
}

TEST(Curves, HistogramsCountEveryFiniteValue) {
    std::vector<double> values{std::numeric_limits<double>::quiet_NaN()};
    for (int i = 0; i < 1000; ++i) values.push_back(i);
    const auto histogram = histogramOf(values);
    ASSERT_TRUE(histogram);
    // IQR 499.5, 2 x 499.5 / 10 wide
    EXPECT_EQ(histogram->counts.size(), 10U);
    double sum = 0;
    for (const double count : histogram->counts) sum += count;
    EXPECT_EQ(sum, 1000);
    EXPECT_DOUBLE_EQ(histogram->high(), 999);
    EXPECT_FALSE(histogramOf({1.0}));
    EXPECT_EQ(histogramOf({2, 2, 2})->counts, std::vector<double>{3});
    EXPECT_DOUBLE_EQ(quantileOf({4, 1, 3, 2}, 0.5), 2.5);
}

TEST(TargetsTest, AreKeptAndJudge) {
    QTemporaryDir folder;
    const QString file = folder.filePath(u"desktop.ini"_s);
    EXPECT_EQ(readTargets(file), Targets{});
    writeTargets(file, {0.55, 0.9, 0.1});
    EXPECT_EQ(readTargets(file), (Targets{0.55, 0.9, 0.1}));
    EXPECT_FALSE(atLeast(0.39, 0.4).passes);
    EXPECT_TRUE(atMost(0.2, 0.2).passes);
    EXPECT_EQ(atLeast(0.39, 0.4).text, u"FAIL < 40\u2009%"_s);
    EXPECT_EQ(atLeast(0.4, 0.4).text, u"PASS ≥ 40\u2009%"_s);
    EXPECT_EQ(atMost(0.21, 0.2).text, u"FAIL > 20\u2009%"_s);
}

TEST(TrainingModel, SpeaksOfTheSelectedSteps) {
    const OpenRecording recording = tenSteps();
    EXPECT_EQ(trainingHeadline(recording), u"Loss went from 5.00 to 4.10 nats in 10 steps."_s);
    EXPECT_EQ(trainingHeadline(recording, steps(2, 4)),
              u"Steps 2–4: loss went from 4.80 to 4.60 nats in 3 steps."_s);
    EXPECT_EQ(trainingHeadline(recording, steps(3, 3)), u"Step 3: loss 4.70 nats."_s);
    EXPECT_EQ(trainingHeadline(recording, steps(50, 60)), u"Steps 50–60: no loss was reported."_s);
    const auto all = spreads(recording, recording.report, steps(2, 4));
    EXPECT_EQ(all[1].marks.front().text, u"median 0.100"_s);
    ASSERT_TRUE(spreads(recording, recording.report, {})[1].histogram);
    EXPECT_DOUBLE_EQ(spreads(recording, recording.report, {})[1].histogram->high(), 0.9);
}

TEST(TrainingModel, MarksSlowStepsAndShowsTheLossScaleOnlyWhereRecorded) {
    OpenRecording recording = tenSteps();
    EXPECT_EQ(metricCharts(recording).size(), 5U);
    recording.report.slowSteps = {{StepIndex{7}, {}}};
    analysis::RunFinding stretch;
    stretch.code = "slow-stretch";
    stretch.steps = {StepIndex{1}, StepIndex{2}};
    recording.report.findings.push_back(stretch);
    recording.summary.metrics.push_back({"loss_scale", StepIndex{0}, {}, 65536});
    const auto charts = metricCharts(recording);
    ASSERT_EQ(charts.size(), 6U);
    EXPECT_EQ(charts[4].key, u"loss_scale"_s);
    EXPECT_EQ(charts[5].series.back().points, (QVector<QPointF>{{1, 0.1}, {2, 0.1}, {7, 0.9}}));
}

TEST(TrainingModel, SpeedIsOfTheSelectedRanksAndLossOfAll) {
    OpenRecording recording = tenSteps();
    recording.summary.ranks.resize(2);
    recording.summary.ranks[1].rank = RankId{1};
    for (StepFacts& step : recording.summary.steps.own()) step.tokens = 100;
    // rank 1 is at work twice as long
    for (StepFacts step : std::vector(recording.summary.steps.all())) {
        step.rank = RankId{1};
        step.end = step.start + Duration{2 * step.range().duration().ns};
        recording.summary.steps.push_back(step);
    }
    Selection second;
    second.ranks = {RankId{1}};
    const auto chartOf = [&](const QString& key, const Selection& selection) {
        const auto charts = metricCharts(recording, selection);
        return *std::find_if(charts.begin(), charts.end(),
                             [&](const MetricChart& chart) { return chart.key == key; });
    };
    const auto firstOf = [&](const QString& key, const Selection& selection) {
        return chartOf(key, selection).series.front().points.front().y();
    };
    Selection first;
    first.ranks = {RankId{0}};
    EXPECT_DOUBLE_EQ(firstOf(u"tokens_per_s"_s, {}), 200 / 0.0002);
    EXPECT_DOUBLE_EQ(firstOf(u"tokens_per_s"_s, first), 100 / 0.0001);
    EXPECT_DOUBLE_EQ(firstOf(u"tokens_per_s"_s, second), 100 / 0.0002);
    EXPECT_DOUBLE_EQ(firstOf(u"step_time"_s, first), 0.1);
    EXPECT_DOUBLE_EQ(firstOf(u"step_time"_s, second), 0.2);
    EXPECT_EQ(chartOf(u"step_time"_s, first).title, u"Step time, of 1 of 2 ranks"_s);
    EXPECT_EQ(chartOf(u"loss"_s, first).title, u"Loss, of all ranks"_s);
    EXPECT_EQ(firstOf(u"loss"_s, first), firstOf(u"loss"_s, {}));
    EXPECT_EQ(spreads(recording, recording.report, second)[1].marks.front().text,
              u"median 0.200"_s);
}

TEST(TrainingModel, SmoothedCurvesKeepTheirOwnBehindThem) {
    const OpenRecording recording = tenSteps();
    const auto chart = metricCharts(recording, {}, {0.9, nullptr}).front();
    ASSERT_EQ(chart.series.size(), 2U);
    EXPECT_TRUE(chart.series[0].pale);
    EXPECT_FALSE(chart.series[1].pale);
    EXPECT_GT(chart.series[1].points.back().y(), chart.series[0].points.back().y());
}

TEST(TrainingModel, ScalingNeedsABaselineOfOneRank) {
    const PartPtr part = wholePart(std::make_shared<OpenRecording>(tenSteps()));
    const auto rows = targetRows(*part, {}, {});
    EXPECT_THAT(rows[1].value.toStdString(), ::testing::HasSubstr("no one-rank baseline"));
    EXPECT_FALSE(rows[1].verdict);
    ComparedRun one{u"one.sscope"_s, u"one"_s, 1, {}};
    one.curves.metrics[kThroughputMetric] = {{0, 200}};
    const auto told = targetRows(*part, {}, {one});
    ASSERT_TRUE(told[1].verdict);
    EXPECT_FALSE(told[1].verdict->passes) << "300 / (2 x 200) is below 80 %";
    EXPECT_TRUE(targetRows(*part, {0.4, 0.7, 0.2}, {one})[1].verdict->passes);
}

TEST(TrainingModel, SaysWhyThereIsNothing) {
    OpenRecording recording = tenSteps();
    EXPECT_TRUE(missingMetrics(recording).isEmpty());
    recording.summary.metrics.clear();
    EXPECT_FALSE(missingMetrics(recording).contains(u"imported"_s));
    recording.summary.run.model.clear();
    EXPECT_TRUE(missingMetrics(recording).contains(u"imported trace"_s));
}

class TrainingPageTest : public WindowTest {
protected:
    TrainingPage* page() { return qobject_cast<TrainingPage*>(m_window->page(u"training"_s)); }
    ChartPanel* chart(const QString& title) {
        for (ChartPanel* each : page()->findChildren<ChartPanel*>())
            if (each->accessibleName().startsWith(title)) return each;
        return nullptr;
    }
};

TEST_F(TrainingPageTest, ADragOverAChartSelectsThoseSteps) {
    openSample();
    m_window->showPage(u"training"_s);
    ASSERT_NE(chart(u"Loss in"_s), nullptr);
    Q_EMIT chart(u"Loss in"_s)->rangeSelected(1.6, 4.4);
    const auto selected = m_window->selection().current().steps;
    ASSERT_TRUE(selected);
    EXPECT_EQ(*selected, (StepSpan{StepIndex{2}, StepIndex{4}}));
    EXPECT_TRUE(page()->frame().headline().startsWith(u"Steps 2–4"_s))
        << page()->frame().headline().toStdString();
    Q_EMIT chart(u"Loss in"_s)->rangeSelected(5.2, 5.6);
    EXPECT_EQ(*m_window->selection().current().steps, (StepSpan{StepIndex{5}, StepIndex{5}}));
}

TEST_F(TrainingPageTest, OtherRunsAreDrawnOverIt) {
    openSample();
    m_window->showPage(u"training"_s);
    const QString other = m_folder.filePath(u"other.sscope"_s);
    ASSERT_TRUE(test::writeSampleRecording(other.toStdString(), {}));
    page()->compareWith(other);
    ASSERT_TRUE(QTest::qWaitFor([this] { return page()->others().runs().size() == 1; }, 10'000));
    EXPECT_TRUE(chart(u"Loss in"_s)->accessibleName().contains(u"other last"_s))
        << chart(u"Loss in"_s)->accessibleName().toStdString();
    page()->findChild<QSlider*>()->setValue(90);
    keepPicture(u"training-compared"_s);
    page()->compareWith(u"/nowhere.sscope"_s);
    ASSERT_TRUE(QTest::qWaitFor([this] { return page()->frame().banner().contains(u"nowhere"_s); },
                                10'000));
}

/// They are made beside the window; what it shows is what the model makes of these ranks.
TEST_F(TrainingPageTest, CurvesOfSelectedRanksComeAfterwards) {
    openSample();
    m_window->showPage(u"training"_s);
    Selection one;
    one.ranks = {{1}};
    m_window->selection().select(one);
    ASSERT_TRUE(QTest::qWaitFor(
        [this] { return chart(u"Throughput, of 1 of 2 ranks"_s) != nullptr; }, 10'000));
    const auto shown = [this](const QString& title) {
        ChartPanel* const found = chart(title);
        return found == nullptr ? QString() : found->accessibleName();
    };
    settle();
    const QString times = shown(u"Step time, of 1 of 2 ranks"_s);
    m_window->selection().select({});
    settle();
    EXPECT_EQ(chart(u"Throughput, of 1 of 2 ranks"_s), nullptr) << "all ranks again";
    EXPECT_NE(shown(u"Step time"_s), times);
}

}  // namespace
}  // namespace shardscope::desktop
