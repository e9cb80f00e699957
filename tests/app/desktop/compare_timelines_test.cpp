// Steps of two runs below each other: which, on one axis, and what is said of them.

#include "app/desktop/models/format.h"
#include "app/desktop/pages/compare/step_bridge.h"
#include "app/desktop/pages/compare/step_pairs.h"
#include "app/desktop/pages/compare/step_timelines.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/widgets/pictures/stacked_bars.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/app/desktop/compare_fixture.h"

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QScrollBar>
#include <QSpinBox>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// Steps from `first` on, one after the other.
RecordingSummary run(std::int32_t first, std::initializer_list<std::int64_t> ms,
                     std::int64_t begin = 0) {
    RecordingSummary summary;
    RankFacts rank;
    rank.rank = RankId{0};
    summary.ranks.push_back(rank);
    for (const std::int64_t each : ms) {
        StepFacts step;
        step.rank = RankId{0};
        step.step = StepIndex{first++};
        step.start = Timestamp{begin};
        begin += each * 1'000'000;
        step.end = Timestamp{begin};
        summary.steps.push_back(step);
    }
    return summary;
}

TEST(StepPairs, TakesThreeAroundTheMedianOfWhatBothHave) {
    const auto match =
        matchSteps(run(0, {9, 9, 9, 9, 9, 9}), run(1, {80, 30, 10, 20, 90, 70}), RankId{0});
    ASSERT_TRUE(match);
    EXPECT_EQ(match->steps, (StepSpan{{1}, {5}}));
    EXPECT_EQ(match->shift, 0);
    EXPECT_EQ(match->usual, (StepSpan{{1}, {3}})) << "30 ms is the median of the five";
    EXPECT_FALSE(matchSteps(run(0, {}), run(0, {1}), RankId{0}));
    EXPECT_FALSE(matchSteps(run(0, {1}), run(0, {1}), RankId{1}));
}

TEST(StepPairs, WithoutANumberInCommonTheFirstStandsBelowTheFirst) {
    const auto match = matchSteps(run(0, {9, 9, 9}), run(100, {8, 8}), RankId{0});
    ASSERT_TRUE(match);
    EXPECT_EQ(match->shift, 100);
    EXPECT_EQ(match->steps, (StepSpan{{0}, {1}}));
    const StepPairs made =
        pairSteps(run(0, {9, 9, 9}), run(100, {8, 8}), RankId{0}, match->steps, match->shift);
    ASSERT_EQ(made.pairs.size(), 2u);
    EXPECT_TRUE(pairText(made.pairs[1], u"A"_s, u"B"_s).startsWith(u"steps 1 and 101 · "_s));
}

TEST(StepPairs, CountFromTheFirstStepAndSayTheDifference) {
    const StepPairs made =
        pairSteps(run(0, {10, 20, 30}, 5'000'000), run(0, {10, 25, 30}), RankId{0}, {{1}, {2}}, 0);
    ASSERT_EQ(made.pairs.size(), 2u);
    EXPECT_EQ(made.baselineOrigin, Timestamp{15'000'000});
    EXPECT_EQ(made.judgedOrigin, Timestamp{10'000'000});
    EXPECT_EQ(made.pairs[1].baseline, (TimeRange{{20'000'000}, {50'000'000}}));
    EXPECT_EQ(made.pairs[1].judged, (TimeRange{{25'000'000}, {55'000'000}}));
    EXPECT_EQ(made.longest, Duration{55'000'000});
    EXPECT_EQ(plain(differenceText(made.pairs[0])), u"+5.00 ms (+25.0 %)"_s);
    EXPECT_EQ(plain(pairText(made.pairs[0], u"A"_s, u"B"_s)),
              u"step 1 · A 20.0 ms · B 25.0 ms · +5.00 ms (+25.0 %)"_s);
    EXPECT_EQ(plain(sumText(made, u"A"_s, u"B"_s)),
              u"2 steps together: A 50.0 ms, B 55.0 ms, +5.00 ms (+10.0 %)."_s);
}

TEST(StepPairs, SayWhatOneLacks) {
    const StepPairs made = pairSteps(run(0, {10, 20}), run(0, {10}), RankId{0}, {{0}, {1}}, 0);
    ASSERT_EQ(made.pairs.size(), 2u);
    EXPECT_TRUE(differenceText(made.pairs[1]).isEmpty());
    EXPECT_EQ(plain(pairText(made.pairs[1], u"A"_s, u"B"_s)), u"step 1 · A 20.0 ms · B lacks it"_s);
}

TimelineHit part(const QString& name, std::int64_t begin, std::int64_t end) {
    TimelineHit hit;
    hit.key = {RankId{0}, LaneId{1}};
    hit.slice.range = {{begin}, {end}};
    hit.slice.name = name;
    hit.slice.layer = LayerIndex{3};
    return hit;
}

TEST(StepPairs, FindTheSamePartInTheOtherRun) {
    TimelineFrame other;
    LaneFrame lane;
    lane.key = {RankId{0}, LaneId{1}};
    for (const auto& [name, begin, end] :
         {std::tuple(u"gather"_s, 1100, 1200), std::tuple(u"gather"_s, 1700, 1900),
          std::tuple(u"reduce"_s, 1600, 1650), std::tuple(u"gather"_s, 2600, 2700)})
        lane.slices.push_back(part(name, begin, end).slice);
    other.lanes.push_back(lane);
    const TimelineHit mine = part(u"gather"_s, 80, 90);
    const auto same = samePart(mine, {{0}, {100}}, other, {{1000}, {2000}});
    ASSERT_TRUE(same);
    EXPECT_EQ(same->slice.range, (TimeRange{{1700}, {1900}})) << "late in the step, of that step";
    EXPECT_EQ(plain(partText(mine, same, false, u"A"_s, u"B"_s)),
              u"gather, block 3: A 10.0 ns, B 200 ns, +190 ns (x 20.0)"_s);
    EXPECT_FALSE(samePart(part(u"scatter"_s, 80, 90), {{0}, {100}}, other, {{1000}, {2000}}));
    EXPECT_TRUE(partText(mine, {}, true, u"A"_s, u"B"_s).contains(u"A has none"_s));
}

class CompareTimelinesTest : public CompareFixture {
protected:
    [[nodiscard]] StepTimelines& panel() { return *page().findChild<StepTimelines*>(); }
    [[nodiscard]] TimelineCanvas& canvas(bool judged) { return panel().canvas(judged); }
    template <class Widget>
    [[nodiscard]] Widget* named(const QString& name) {
        for (auto* each : panel().findChildren<Widget*>())
            if (each->accessibleName() == name) return each;
        return nullptr;
    }
    /// What is shown, from the beginning of the first step.
    [[nodiscard]] TimeRange shown(bool judged) {
        const TimeRange view = canvas(judged).view();
        const Timestamp origin =
            judged ? panel().pairs().judgedOrigin : panel().pairs().baselineOrigin;
        return {Timestamp{} + (view.begin - origin), Timestamp{} + (view.end - origin)};
    }
    void expectOneAxis() {
        EXPECT_EQ(shown(false), shown(true));
        EXPECT_EQ(canvas(false).viewport()->width(), canvas(true).viewport()->width());
    }
};

TEST_F(CompareTimelinesTest, ShowsThreeStepsOfOneRankOnOneAxis) {
    openSample();
    comparedWith(other({.operatorRounds = 5}));
    ASSERT_EQ(panel().pairs().pairs.size(), 3u);
    expectOneAxis();
    for (const bool judged : {false, true}) {
        EXPECT_TRUE(canvas(judged).hasPicture());
        for (const LaneRow& row : canvas(judged).lanes().rows) EXPECT_EQ(row.key.rank, RankId{0});
        EXPECT_EQ(canvas(judged).accessibleName(),
                  judged ? u"Timeline of B"_s : u"Timeline of A"_s);
    }
    EXPECT_TRUE(saysIn(panel(), u"3 steps together: A "_s));
    const auto* bridge = panel().findChild<StepBridge*>();
    EXPECT_EQ(bridge->accessibleName(), u"Differences of the steps of both"_s);
    EXPECT_TRUE(bridge->accessibleDescription().contains(
        pairText(panel().pairs().pairs[1], u"A"_s, u"B"_s)));
    keepPicture(u"compare-timelines"_s);
}

TEST_F(CompareTimelinesTest, ZoomsAndMovesBothByKeys) {
    openSample();
    comparedWith(other({.operatorRounds = 5}));
    const TimeRange all = shown(false);
    for (const bool judged : {false, true}) {
        QTest::keyClick(&canvas(judged), Qt::Key_W);
        EXPECT_LT(shown(false).duration(), all.duration());
        expectOneAxis();
        QTest::keyClick(&canvas(judged), Qt::Key_D);
        expectOneAxis();
        QTest::keyClick(&canvas(judged), Qt::Key_F);
        EXPECT_EQ(shown(true), all) << "all of these steps, not of the run";
        expectOneAxis();
    }
}

TEST_F(CompareTimelinesTest, StepsAreChosenAndTurned) {
    openSample();
    comparedWith(other());
    auto* from = named<QSpinBox>(u"First step that is compared"_s);
    auto* to = named<QSpinBox>(u"Last step that is compared"_s);
    ASSERT_TRUE(from != nullptr && to != nullptr);
    from->setValue(2);
    to->setValue(3);
    EXPECT_EQ(panel().pairs().pairs.size(), 2u);
    named<QPushButton>(u"Steps after these"_s)->click();
    EXPECT_EQ(from->value(), 4);
    EXPECT_EQ(to->value(), 5);
    named<QPushButton>(u"Steps before these"_s)->click();
    EXPECT_EQ(from->value(), 2);
    from->setValue(7);
    EXPECT_EQ(to->value(), 7) << "the end follows";
    panel().turn(true);
    panel().turn(true);
    panel().turn(true);
    EXPECT_EQ(to->value(), 9);
    EXPECT_FALSE(named<QPushButton>(u"Steps after these"_s)->isEnabled());
    wait();
    expectOneAxis();
}

TEST_F(CompareTimelinesTest, FollowsTheRankAndTheSelection) {
    openSample();
    comparedWith(other());
    auto* ranks = named<QComboBox>(u"Rank whose lanes are compared"_s);
    ASSERT_EQ(ranks->count(), 2);
    ranks->setCurrentIndex(1);
    Q_EMIT ranks->activated(1);
    wait();
    for (const bool judged : {false, true})
        for (const LaneRow& row : canvas(judged).lanes().rows) EXPECT_EQ(row.key.rank, RankId{1});
    m_window->selection().selectSteps({{2}, {6}});
    settle();
    wait();
    EXPECT_EQ(panel().pairs().pairs.size(), 5u);
    EXPECT_EQ(panel().pairs().pairs.front().before, StepIndex{2});
}

TEST_F(CompareTimelinesTest, AsksNothingOfRunsThatAreStillBeingRead) {
    openSample();
    comparedWith(other());
    const TimelineQuery query = canvas(true).frame()->query;
    const QString longer = m_folder.filePath(u"longer.sscope"_s);
    ASSERT_TRUE(test::writeSampleRecording(longer.toStdString(), {.steps = 20}));
    panel().show({{m_window->loader().recording()->path, longer}, {u"A"_s, u"B"_s}, {}, {}});
    auto* ranks = named<QComboBox>(u"Rank whose lanes are compared"_s);
    Q_EMIT ranks->activated(ranks->currentIndex());
    Q_EMIT canvas(true).pictureRequested(query);
    Q_EMIT canvas(true).depthsRequested({query.lanes});
    wait();
    EXPECT_TRUE(panel().isVisible());
    ASSERT_FALSE(panel().pairs().pairs.empty());
    EXPECT_TRUE(canvas(true).hasPicture());
}

TEST_F(CompareTimelinesTest, NamesAPartInBoth) {
    openSample();
    comparedWith(other({.operatorRounds = 5}));
    // in the first step, not before it
    const TimeRange all = canvas(false).view();
    const Duration quarter{all.duration().ns / 4};
    canvas(false).setView({all.begin + quarter, all.begin + quarter + quarter});
    wait();
    canvas(false).run(TimelineCommand::kLaneBelow);
    canvas(false).run(TimelineCommand::kLaneBelow);
    ASSERT_TRUE(canvas(false).selectedSlice());
    ASSERT_TRUE(canvas(true).shadow().has_value());
    EXPECT_EQ(canvas(true).shadow()->slice.name, canvas(false).selectedSlice()->slice.name);
    EXPECT_EQ(canvas(true).shadow()->key, canvas(false).selectedSlice()->key);
    EXPECT_TRUE(saysIn(panel(), canvas(false).selectedSlice()->slice.name));
    keepPicture(u"compare-part"_s);
    canvas(true).run(TimelineCommand::kLaneBelow);
    EXPECT_FALSE(canvas(false).selectedSlice()) << "one part at a time";
    EXPECT_TRUE(canvas(false).shadow());
}

TEST_F(CompareTimelinesTest, FoldsAndFiltersBoth) {
    openSample();
    comparedWith(other());
    canvas(false).setFilter(u"comm"_s);
    EXPECT_EQ(canvas(true).laneOptions().filter, u"comm"_s);
    EXPECT_EQ(canvas(true).lanes().rows.size(), canvas(false).lanes().rows.size());
    canvas(true).setFilter({});
    EXPECT_TRUE(canvas(false).laneOptions().filter.isEmpty());
    canvas(true).run(TimelineCommand::kKinds);
    EXPECT_EQ(canvas(false).laneOptions().nested, canvas(true).laneOptions().nested);
}

TEST_F(CompareTimelinesTest, ARankOfALargeRunIsOpenToo) {
    openSample();
    comparedWith(other({.ranks = 8}));
    EXPECT_TRUE(canvas(true).laneOptions().collapsed.empty());
    EXPECT_EQ(canvas(true).lanes().rows.size(), canvas(false).lanes().rows.size());
}

TEST_F(CompareTimelinesTest, ARecordingWithoutStepsHasNone) {
    openSample({.steps = 3});
    comparedWith(other({.steps = 0}));
    for (auto* each : page().findChildren<QPushButton*>())
        if (each->text() == u"Compare anyway"_s) each->click();
    wait();
    EXPECT_FALSE(panel().isVisible());
}

}  // namespace
}  // namespace shardscope::desktop
