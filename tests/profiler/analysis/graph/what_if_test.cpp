// Steps played again: drawn ones by hand, random ones against every chain through them.
#include "profiler/analysis/graph/what_if.h"

#include "tests/profiler/analysis/step_samples.h"
#include "tests/support/word_list_test.h"

#include <gmock/gmock.h>

#include <functional>
#include <utility>
#include <vector>

namespace shardscope::test {
namespace {

using Paths = testing::Types<analysis::PathKind, analysis::Change>;
INSTANTIATE_TYPED_TEST_SUITE_P(Paths, WordList, Paths);

}  // namespace
}  // namespace shardscope::test

namespace shardscope::analysis {
namespace {

using test::DrawnStep;
using test::drawTimeline;
using testing::ElementsAre;
using testing::IsEmpty;

DrawnStep lateRank() {
    return DrawnStep(drawTimeline(R"(
        rank 0 step    |ssssssssss|
        rank 0 compute |fffgggggbb|
        rank 0 comm    |...--aaa..|
        rank 1 step    |ssssssssss|
        rank 1 compute |fffffgggbb|
        rank 1 comm    |.....aaa..|
    )"));
}

TEST(WhatIf, NothingChangesTheStepIsAsRecorded) {
    EXPECT_EQ(replay(lateRank().graph(), {}).ns, 10'000);
}

TEST(WhatIf, GathersAreHiddenTheLateRankBoundsTheStep) {
    EXPECT_EQ(replay(lateRank().graph(), {Change::kGathersHidden, {}, 0}).ns, 7'000);
}

TEST(WhatIf, TheLinkIsFasterMovingTakesHalf) {
    DrawnStep step = lateRank();
    EXPECT_EQ(replay(step.graph(), {Change::kLinkTwice, {}, 0}).ns, 8'500);
}

TEST(WhatIf, TheLinkIsFasterLatencyStays) {
    StepGraph graph({{0}, {1'000}});
    Activity moving;
    moving.kind = PathKind::kMoving;
    moving.range = {{0}, {1'000}};
    moving.fixed = {400};
    graph.addEnd(graph.add(moving));
    graph.seal();
    EXPECT_EQ(replay(graph, {Change::kLinkTwice, {}, 0}).ns, 700);
}

TEST(WhatIf, ARankIsAtTheMedianTheOthersBoundTheStep) {
    // Forward takes 3 and 5 ticks: 4 at the median.
    EXPECT_EQ(replay(lateRank().graph(), {Change::kRankAtMedian, {1}, 0}).ns, 9'000);
    // The other one is faster than that already.
    EXPECT_EQ(replay(lateRank().graph(), {Change::kRankAtMedian, {0}, 0}).ns, 10'000);
    EXPECT_EQ(replay(lateRank().graph(), {Change::kRankAtMedian, {7}, 0}).ns, 10'000);
}

TEST(WhatIf, ANameIsFasterAllRanksAre) {
    DrawnStep step = lateRank();
    const StepGraph graph = step.graph();
    EXPECT_EQ(replay(graph, {Change::kFaster, {}, step.names.of("forward")}).ns, 9'000);
    EXPECT_EQ(replay(graph, {Change::kFaster, {}, step.names.of("backward")}).ns, 9'600);
    EXPECT_EQ(replay(graph, {Change::kFaster, {}, step.names.of("nothing")}).ns, 10'000);
}

TEST(WhatIf, WhatIsGivenIsSoManyTimesAsFast) {
    DrawnStep step = lateRank();
    const StepGraph graph = step.graph();
    const auto played = [&](std::vector<Speed> speeds) {
        return replay(graph, {Change::kGiven, {}, 0, std::move(speeds)}).ns;
    };
    EXPECT_EQ(played({}), 10'000);
    EXPECT_EQ(played({{Hastened::kLink, {}, 0, 2}}), 8'500);
    EXPECT_EQ(played({{Hastened::kName, {}, step.names.of("forward"), 1.25}}), 9'000);
    // It is the late one; backward of the other one then ends last.
    EXPECT_EQ(played({{Hastened::kRank, {1}, 0, 1.25}}), 9'000);
    EXPECT_EQ(played({{Hastened::kRank, {7}, 0, 2}}), 10'000);
    // Those of one activity multiply; what is slower takes longer.
    EXPECT_EQ(played({{Hastened::kLink, {}, 0, 2}, {Hastened::kLink, {}, 0, 0.5}}), 10'000);
    EXPECT_GT(played({{Hastened::kLink, {}, 0, 0.5}}), 10'000);
}

TEST(WhatIf, ComputeIsFasterAGatherThatWasHiddenIsNot) {
    // The layer's gather ends with forward before it, and backward needs it.
    DrawnStep step(drawTimeline(R"(
        rank 0 step    |ssssssssss|
        rank 0 compute |fffffbbbbb|
        rank 0 comm    |aaaaa.....|
    )"));
    const StepGraph graph = step.graph();
    EXPECT_EQ(replay(graph, {Change::kFaster, {}, step.names.of("forward")}).ns, 10'000);
    EXPECT_EQ(replay(graph, {Change::kGathersHidden, {}, 0}).ns, 10'000);
}

TEST(WhatIf, OfNothingIsNothing) {
    StepGraph graph({{5}, {5}});
    graph.seal();
    for (const Change change : kAll<Change>) EXPECT_EQ(replay(graph, {change, {}, 0}).ns, 0);
}

TEST(SlowRanks, AreOverTheMedianByMoreThanOnePercent) {
    EXPECT_THAT(slowRanks({}), IsEmpty());
    EXPECT_THAT(slowRanks({{{0}, {1'000}}, {{1}, {1'010}}, {{2}, {990}}}), IsEmpty());
    EXPECT_THAT(
        slowRanks({{{0}, {1'000}}, {{1}, {1'011}}, {{2}, {900}}, {{3}, {1'000}}, {{4}, {1'500}}}),
        ElementsAre(RankId{4}, RankId{1}));
}

/// Unchanged to the nanosecond; faster never longer.
TEST(WhatIf, NeverMakesRandomStepsLonger) {
    test::RandomEvents random(23);
    std::int64_t shorter = 0;
    for (int round = 0; round < 10'000; ++round) {
        DrawnStep step = test::randomStep(random);
        const StepGraph graph = step.graph();
        const Duration wall = step.range().duration();
        ASSERT_EQ(replay(graph, {}), wall) << "round " << round;
        for (const Change change : kAll<Change>) {
            const Scenario scenario{change,
                                    {static_cast<std::uint32_t>(random.between(0, 2))},
                                    static_cast<std::uint32_t>(random.between(0, 12))};
            const Duration changed = replay(graph, scenario);
            ASSERT_LE(changed, wall) << "round " << round << ", " << toWord(change);
            ASSERT_GE(changed.ns, 0);
            shorter += changed < wall;
        }
    }
    EXPECT_GT(shorter, 1'000);  // scenarios do something
}

/// All chains, one by one.
Duration longestOf(const StepGraph& graph, const std::function<Duration(const Activity&)>& lasts,
                   const std::function<bool(const Activity&, const Activity&)>& dropped) {
    const std::function<Timestamp(StepGraph::Place)> endOf = [&](StepGraph::Place place) {
        const Activity& activity = graph.activities()[place];
        const Duration delay = activity.range.begin - graph.readyAt(place);
        Timestamp start =
            graph.needs(place).empty() ? activity.range.begin : graph.range().begin + delay;
        for (const StepGraph::Place need : graph.needs(place))
            if (!dropped(graph.activities()[need], activity))
                start = std::max(start, endOf(need) + delay);
        return start + lasts(activity);
    };
    Timestamp last = graph.range().begin;
    for (const StepGraph::Place place : graph.ends()) last = std::max(last, endOf(place));
    return last - graph.range().begin;
}

TEST(WhatIf, IsTheLongestChainByBruteForce) {
    test::RandomEvents random(29);
    const auto keepsAll = [](const Activity&, const Activity&) { return false; };
    for (int round = 0; round < 2'000; ++round) {
        StepGraph graph({{0}, {1'000}});
        const auto count = static_cast<StepGraph::Place>(random.between(1, 12));
        for (StepGraph::Place place = 0; place < count; ++place) {
            Activity activity;
            activity.kind = random.between(0, 1) == 0 ? PathKind::kMoving : PathKind::kCompute;
            activity.gather = activity.communicates();
            activity.name = static_cast<std::uint32_t>(random.between(0, 2));
            std::vector<StepGraph::Place> needs;
            for (StepGraph::Place earlier = 0; earlier < place; ++earlier)
                if (random.between(0, 3) == 0) needs.push_back(earlier);
            for (const auto need : needs)
                activity.range.begin =
                    std::max(activity.range.begin, graph.activities()[need].range.end);
            activity.range.begin = activity.range.begin + Duration{random.between(0, 9)};
            activity.range.end = activity.range.begin + Duration{random.between(0, 20)};
            graph.add(activity);
            for (const auto need : needs) ASSERT_TRUE(graph.depend(place, need));
            if (random.between(0, 4) == 0) graph.addEnd(place);
        }
        graph.addEnd(count - 1);
        graph.seal();
        const auto half = [](const Activity& each) {
            const Duration own = each.range.duration();
            return each.communicates() ? Duration{own.ns / 2} : own;
        };
        const auto faster = [](const Activity& each) {
            const Duration own = each.range.duration();
            return each.name == 1 && !each.communicates() ? Duration{own.ns * 4 / 5} : own;
        };
        const auto recorded = [](const Activity& each) { return each.range.duration(); };
        const auto gathers = [](const Activity& earlier, const Activity& later) {
            return earlier.gather && !later.communicates();
        };
        ASSERT_EQ(replay(graph, {}), longestOf(graph, recorded, keepsAll));
        ASSERT_EQ(replay(graph, {Change::kLinkTwice, {}, 0}), longestOf(graph, half, keepsAll));
        ASSERT_EQ(replay(graph, {Change::kFaster, {}, 1}), longestOf(graph, faster, keepsAll));
        ASSERT_EQ(replay(graph, {Change::kGathersHidden, {}, 0}),
                  longestOf(graph, recorded, gathers));
    }
}

}  // namespace
}  // namespace shardscope::analysis
