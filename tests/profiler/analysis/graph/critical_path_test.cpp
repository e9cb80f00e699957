// Paths of drawn steps, and their properties in random ones.
#include "profiler/analysis/graph/critical_path.h"

#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "tests/profiler/analysis/step_samples.h"

#include <gtest/gtest.h>

#include <functional>

namespace shardscope::analysis {
namespace {

using test::DrawnStep;
using test::drawTimeline;
using test::pathOf;
using test::pathText;

TEST(CriticalPath, OfOneRankIsItsSteps) {
    EXPECT_EQ(pathOf(R"(
        rank 0 step    |ssssssssss|
        rank 0 compute |d.fffbbboo|
    )"),
              "0 data 0-1, 0 host 1-2, 0 compute 2-5, 0 compute 5-8, 0 optimizer 8-10");
}

TEST(CriticalPath, GoesOverToTheLateRankWhenItArrives) {
    EXPECT_EQ(pathOf(R"(
        rank 0 step    |ssssssssss|
        rank 0 compute |fffgggggbb|
        rank 0 comm    |...--aaa..|
        rank 1 step    |ssssssssss|
        rank 1 compute |fffffgggbb|
        rank 1 comm    |.....aaa..|
    )"),
              "1 compute 0-5, 0 moving 5-8, 0 compute 8-10");
}

TEST(CriticalPath, LeavesOutAGatherBehindCompute) {
    EXPECT_EQ(pathOf(R"(
        rank 0 step    |ssssssssss|
        rank 0 compute |ffffffbbbb|
        rank 0 comm    |.aaa......|
    )"),
              "0 compute 0-6, 0 compute 6-10");
}

TEST(CriticalPath, HasAnExposedGather) {
    EXPECT_EQ(pathOf(R"(
        rank 0 step    |ssssssssss|
        rank 0 compute |ffgggbbbbb|
        rank 0 comm    |.aaaa.....|
    )"),
              "0 compute 0-1, 0 moving 1-5, 0 compute 5-10");
}

TEST(CriticalPath, GoesThroughAQueueOfCollectives) {
    EXPECT_EQ(pathOf(R"(
        rank 0 step    |ssssssssss|
        rank 0 compute |ffrrrrrbbb|
        rank 0 comm    |.aaarrr...|
    )"),
              "0 compute 0-1, 0 moving 1-4, 0 moving 4-7, 0 compute 7-10");
}

TEST(CriticalPath, BeginsWithTheFirstRankAndEndsWithTheLast) {
    EXPECT_EQ(pathOf(R"(
        rank 0 step    |ssssss....|
        rank 0 compute |ffffff....|
        rank 1 step    |...sssssss|
        rank 1 compute |...fffffff|
    )"),
              "1 late start 0-3, 1 compute 3-10");
}

TEST(CriticalPath, AfterTheEndOfAWaitIsLatency) {
    EXPECT_EQ(pathOf(R"(
        rank 0 step    |ssssssssss|
        rank 0 compute |ffgggggbbb|
        rank 0 comm    |..aaa.....|
    )"),
              "0 compute 0-2, 0 moving 2-5, 0 latency 5-7, 0 compute 7-10");
}

TEST(CriticalPath, StaysOnItsRankInAWaitThatNothingEnded) {
    EXPECT_EQ(pathOf(R"(
        rank 0 step    |ssssssssss|
        rank 0 compute |ffwwwwwbbb|
    )"),
              "0 compute 0-2, 0 blocked 2-7, 0 compute 7-10");
}

TEST(CriticalPath, WaitsForARankThatIsNotThere) {
    // The other one, which is not recorded, came at 5.
    EXPECT_EQ(pathOf(R"(
        rank 0 step    |ssssssssss|
        rank 0 compute |ffggggggbb|
        rank 0 comm    |..---aaa..|
    )"),
              "0 compute 0-2, 0 waiting 2-5, 0 moving 5-8, 0 compute 8-10");
}

TEST(CriticalPath, StaysOnItsRankWhereClocksDoNotTell) {
    DrawnStep step(drawTimeline(R"(
        rank 0 step    |ssssssssss|
        rank 0 compute |fffgggggbb|
        rank 0 comm    |...--aaa..|
        rank 1 step    |ssssssssss|
        rank 1 compute |fffffgggbb|
        rank 1 comm    |.....aaa..|
    )"));
    RecordingSummary& summary = step.timeline.summary;
    summary.hosts.resize(2);
    summary.hosts[1].host = 1;
    summary.hosts[1].clockErrorNs = 1'000'000;
    summary.ranks[1].host = 1;
    step.clocks = HostClocks(summary, step.timeline.ranks);
    EXPECT_EQ(pathText(criticalPath(step.graph())),
              "0 compute 0-3, 0 collective 3-8, 0 compute 8-10");
    EXPECT_EQ(step.refused, 1);
    // Clocks that are right within less than the ranks came apart tell it.
    summary.hosts[1].clockErrorNs = 100;
    step.clocks = HostClocks(summary, step.timeline.ranks);
    EXPECT_EQ(pathText(criticalPath(step.graph())), "1 compute 0-5, 0 moving 5-8, 0 compute 8-10");
    EXPECT_EQ(step.refused, 0);
}

/// Calls of a host in ticks, kernels of two streams, a wait for the device at the end.
TEST(CriticalPath, GoesThroughLaunchesAndKernels) {
    DrawnStep step(drawTimeline("rank 0 step |ssssssssssssssssssss|"));
    const auto add = [&](SpanUse use, std::int64_t begin, std::int64_t end, std::uint32_t lane,
                         std::uint64_t correlation) {
        step.spans.push_back(
            {{{begin * 1000}, {end * 1000}}, use, {lane}, 0, correlation, kNoLayer});
    };
    add(SpanUse::kLaunch, 2, 3, 0x2000, 1);
    add(SpanUse::kLaunch, 4, 5, 0x2000, 2);
    add(SpanUse::kSync, 6, 18, 0x2000, 0);
    add(SpanUse::kKernel, 5, 10, 0x1000, 1);
    add(SpanUse::kKernel, 10, 17, 0x1000, 2);
    EXPECT_EQ(pathText(criticalPath(step.graph())),
              "0 host 0-2, 0 launch 2-5, 0 compute 5-17, 0 latency 17-18, 0 host 18-20");
    // On a stream of its own right behind the first: that is what it waited for.
    step.spans.back().lane = {0x1001};
    EXPECT_EQ(pathText(criticalPath(step.graph())),
              "0 host 0-2, 0 launch 2-5, 0 compute 5-17, 0 latency 17-18, 0 host 18-20");
    // Nobody waits for the device: the step's thread bounds the step.
    std::erase_if(step.spans, [](const PathSpan& span) { return span.use == SpanUse::kSync; });
    EXPECT_EQ(pathText(criticalPath(step.graph())),
              "0 host 0-2, 0 launch 2-3, 0 host 3-4, 0 launch 4-5, 0 host 5-20");
}

TEST(CriticalPath, OfNothingIsEmpty) {
    PathNames names;
    StepGraphs graphs({}, {}, names);
    EXPECT_TRUE(criticalPath(graphs.of({{0}, {100}}, {})).empty());
    RankStep empty;
    empty.range = {{5}, {5}};
    EXPECT_TRUE(criticalPath(graphs.of({{5}, {5}}, {empty})).empty());
}

TEST(CriticalPath, OfARankWithoutEventsIsItsThreads) {
    EXPECT_EQ(pathOf("rank 0 step |ssss|"), "0 host 0-4");
}

/// A ring of activities without length at one instant ends, and loses no time.
TEST(CriticalPath, CutsRings) {
    StepGraph graph({{0}, {10}});
    const auto at = [&](std::int64_t begin, std::int64_t end) {
        Activity activity;
        activity.range = {{begin}, {end}};
        return graph.add(activity);
    };
    const auto first = at(0, 5), a = at(5, 5), b = at(5, 5), last = at(5, 10);
    for (const auto& [later, earlier] :
         {std::pair(a, first), std::pair(a, b), std::pair(b, a), std::pair(last, b)})
        EXPECT_TRUE(graph.depend(later, earlier));
    EXPECT_FALSE(graph.depend(first, last));
    graph.addEnd(last);
    graph.seal();
    Duration sum;
    for (const PathPiece& piece : criticalPath(graph)) sum += piece.range.duration();
    EXPECT_EQ(sum.ns, 10);
}

/// At each instant exactly one piece, in steps of which nothing need fit together.
TEST(CriticalPath, AddsUpToTheStepInRandomOnes) {
    test::RandomEvents random(17);
    for (int round = 0; round < 10'000; ++round) {
        DrawnStep step = test::randomStep(random);
        const StepGraph graph = step.graph();
        Timestamp reached = step.range().begin;
        for (const PathPiece& piece : criticalPath(graph)) {
            ASSERT_EQ(piece.range.begin, reached) << "round " << round;
            ASSERT_FALSE(piece.range.empty());
            reached = piece.range.end;
        }
        ASSERT_EQ(reached, step.range().end) << "round " << round;
    }
}

/// All chains from beginning to end, one by one; each activity lasts `longer` more if it is `that`.
Duration longestOf(const StepGraph& graph, StepGraph::Place that, Duration longer) {
    const std::function<Timestamp(StepGraph::Place)> endOf = [&](StepGraph::Place place) {
        const Activity& activity = graph.activities()[place];
        const Duration delay = activity.range.begin - graph.readyAt(place);
        Timestamp start = graph.needs(place).empty() ? activity.range.begin : Timestamp{};
        for (const StepGraph::Place need : graph.needs(place))
            start = std::max(start, endOf(need) + delay);
        return start + activity.range.duration() + (place == that ? longer : Duration{});
    };
    Timestamp last;
    for (const StepGraph::Place place : graph.ends()) last = std::max(last, endOf(place));
    return last - graph.range().begin;
}

/// Were an activity of the path longer, so would be the step, by as much.
TEST(CriticalPath, IsOneOfTheLongestByBruteForce) {
    test::RandomEvents random(3);
    for (int round = 0; round < 2'000; ++round) {
        StepGraph graph({{0}, {1'000}});
        const auto count = static_cast<StepGraph::Place>(random.between(1, 12));
        for (StepGraph::Place place = 0; place < count; ++place) {
            std::vector<StepGraph::Place> needs;
            for (StepGraph::Place earlier = 0; earlier < place; ++earlier)
                if (random.between(0, 3) == 0) needs.push_back(earlier);
            Activity activity;
            activity.name = place;
            for (const auto need : needs)
                activity.range.begin =
                    std::max(activity.range.begin, graph.activities()[need].range.end);
            activity.range.begin = activity.range.begin + Duration{random.between(0, 9)};
            activity.range.end = activity.range.begin + Duration{random.between(0, 20)};
            graph.add(activity);
            for (const auto need : needs) ASSERT_TRUE(graph.depend(place, need));
        }
        graph.addEnd(count - 1);
        graph.seal();
        const Duration wall = graph.activities().back().range.end - Timestamp{};
        ASSERT_EQ(longestOf(graph, count, {}), wall);
        for (const PathPiece& piece : criticalPath(graph)) {
            ASSERT_EQ(longestOf(graph, piece.name, {7}), wall + Duration{7}) << "round " << round;
        }
    }
}

}  // namespace
}  // namespace shardscope::analysis
