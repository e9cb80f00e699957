#include "profiler/analysis/report.h"
#include "tests/support/random_events.h"
#include "tests/support/timeline.h"

#include <gtest/gtest.h>

#include <numeric>

namespace shardscope::analysis {
namespace {

using test::drawTimeline;
using test::kTick;

Report reportOf(const test::Timeline& timeline) {
    return analyse(timeline.summary, timeline.ranks);
}

std::int64_t ticks(const LedgerRow& row, LedgerPart part) {
    return row.parts[static_cast<std::size_t>(part)].ns / kTick.ns;
}

TEST(Ledger, BooksEveryPhaseUnderItsPart) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |ssssssssssssssssssssssss|
        rank 0 compute |ddffffhhbbbbccoooxee....|
    )"));
    ASSERT_EQ(report.ledger.size(), 1u);
    const LedgerRow& row = report.ledger[0];
    EXPECT_EQ(ticks(row, LedgerPart::kData), 2);
    EXPECT_EQ(ticks(row, LedgerPart::kCompute), 10);
    EXPECT_EQ(ticks(row, LedgerPart::kOptimizer), 5);
    EXPECT_EQ(ticks(row, LedgerPart::kEvaluation), 2);
    EXPECT_EQ(ticks(row, LedgerPart::kOther), 5);
}

TEST(Ledger, SplitsBlockedTimeAtTheLastArrival) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |ssssssssssssssss|
        rank 0 comm    |..---aaa..--rrrc|
        rank 0 compute |fffggggg.bbrrrrw|
    )"));
    const LedgerRow& row = report.ledger.at(0);
    EXPECT_EQ(ticks(row, LedgerPart::kWaiting), 3);  // two of the gather's, one of the reduction's
    EXPECT_EQ(ticks(row, LedgerPart::kExposedGather), 3);
    EXPECT_EQ(ticks(row, LedgerPart::kExposedReduction), 3);
    EXPECT_EQ(ticks(row, LedgerPart::kExposedOther), 1);
    EXPECT_EQ(ticks(row, LedgerPart::kCompute), 5);
    EXPECT_EQ(ticks(row, LedgerPart::kOther), 1);
}

TEST(Ledger, CutsPhasesAtTheStepsEdges) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |..ssss1sss..|
        rank 0 compute |ffffffbbbbbb|
    )"));
    ASSERT_EQ(report.ledger.size(), 2u);
    EXPECT_EQ(ticks(report.ledger[0], LedgerPart::kCompute), 4);
    EXPECT_EQ(ticks(report.ledger[1], LedgerPart::kCompute), 4);
}

TEST(Ledger, LeavesOutStepsWithoutRecordedPhases) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |ssss1sss|
        rank 0 compute |....ffff|
    )"));
    ASSERT_EQ(report.ledger.size(), 1u);
    EXPECT_EQ(report.ledger[0].step, StepIndex{1});
}

/// Phases and collectives at random, overlapping or not, reaching over every edge.
test::Timeline randomTimeline(test::RandomEvents& random) {
    test::Timeline timeline;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        RankEvents events;
        events.rank = {rank};
        Timestamp at{random.between(0, 50)};
        for (std::int32_t step = 0; step < 8; ++step) {
            StepFacts facts;
            facts.rank = {rank};
            facts.step = {step};
            facts.start = at;
            facts.end = at + Duration{random.between(0, 200)};
            at = facts.end + Duration{random.between(0, 20)};
            timeline.summary.steps.push_back(facts);
        }
        for (Timestamp t{0}; t < at; t = t + Duration{random.between(0, 30)}) {
            SpanEvent phase;
            phase.start = t;
            phase.duration = {random.between(0, 30)};
            phase.phase = static_cast<Phase>(random.between(0, 13));
            events.phases.push_back(phase);
            CollectiveEvent collective;
            collective.start = t + Duration{random.between(-10, 10)};
            collective.end = collective.start + Duration{random.between(0, 40)};
            collective.arrivals = {collective.start,
                                   collective.start + Duration{random.between(0, 60)}};
            events.collectives.push_back(collective);
        }
        timeline.ranks.push_back(events);
        timeline.summary.ranks.emplace_back().rank = {rank};
    }
    timeline.summary.run.worldSize = 3;
    return timeline;
}

TEST(Ledger, PartsAddUpToWallTimeOnEveryRankAndStep) {
    test::RandomEvents random(4);
    for (int round = 0; round < 200; ++round) {
        const auto timeline = randomTimeline(random);
        const Report report = reportOf(timeline);
        EXPECT_GT(report.ledger.size(), 12u);
        for (const LedgerRow& row : report.ledger) {
            Duration sum;
            for (const Duration part : row.parts) {
                EXPECT_GE(part.ns, 0);
                sum += part;
            }
            ASSERT_EQ(sum, row.wall) << "rank " << row.rank.value << " step " << row.step.value;
        }
        for (const Overlap& overlap : report.overlapByRank) {
            EXPECT_EQ(overlap.hidden + overlap.exposed, overlap.communication);
            EXPECT_EQ(overlap.waiting + overlap.moving, overlap.communication);
            EXPECT_GE(overlap.exposed.ns, 0);
            EXPECT_GE(overlap.moving.ns, 0);
        }
        Duration communication, hidden;
        for (const StepOverlap& step : report.overlapByStep) {
            EXPECT_GT(step.communication.ns, 0);
            EXPECT_LE(step.hidden, step.communication);
            communication += step.communication;
            hidden += step.hidden;
        }
        EXPECT_EQ(communication, report.overlap.communication);
        EXPECT_EQ(hidden, report.overlap.hidden);
    }
}

TEST(Ledger, MedianIsTakenPartByPart) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |sss1sssss2sssssss|
        rank 0 compute |fffffffffffffffff|
    )"));
    EXPECT_EQ(medianParts(report.ledger, {0})[0].ns, 6 * kTick.ns);
}

TEST(Ledger, MedianOfAnEvenNumberOfStepsLiesBetweenTheMiddleTwo) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |sss1sssss|
        rank 0 compute |fffffffff|
    )"));
    EXPECT_EQ(medianParts(report.ledger, {0})[at(LedgerPart::kCompute)].ns, 9 * kTick.ns / 2);
    EXPECT_EQ(medianParts(report.ledger, {1})[at(LedgerPart::kCompute)].ns, 0);
    EXPECT_EQ(sumOfParts(report.ledger)[at(LedgerPart::kCompute)], sumOfWalls(report.ledger));
}

TEST(Overlap, OfEachStepCountsWhatLiesWithinIt) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |ssssss1sssss|
        rank 0 comm    |..aaaaaa....|
        rank 0 compute |ffff...bbbbb|
    )"));
    ASSERT_EQ(report.overlapByStep.size(), 2u);
    EXPECT_EQ(report.overlapByStep[0].communication.ns, 4 * kTick.ns);
    EXPECT_EQ(report.overlapByStep[0].hidden.ns, 2 * kTick.ns);
    EXPECT_EQ(report.overlapByStep[1].communication.ns, 2 * kTick.ns);
    EXPECT_EQ(report.overlapByStep[1].hidden.ns, 1 * kTick.ns);
}

TEST(Overlap, CountsOnlyCommunicationHiddenByWork) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |ssssssssssssssssssss|
        rank 0 comm    |..aaaa....rrrrrr....|
        rank 0 compute |ffffgg....bbbbrr.ddd|
    )"));
    EXPECT_EQ(report.overlap.communication.ns / kTick.ns, 10);
    EXPECT_EQ(report.overlap.hidden.ns / kTick.ns, 6);
    EXPECT_DOUBLE_EQ(*report.overlap.ratio(), 0.6);
}

TEST(Overlap, LeavesOutValidationAndTimeBetweenSteps) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |ssssssss....|
        rank 0 comm    |aaaaaaaaaaaa|
        rank 0 compute |ffffeeee....|
    )"));
    EXPECT_EQ(report.overlap.communication.ns / kTick.ns, 4);
    EXPECT_EQ(report.overlap.exposed.ns, 0);
}

TEST(Waiting, NamesTheRankOthersWaitedFor) {
    const auto report = reportOf(drawTimeline(R"(
        rank 0 step    |ssssssss|
        rank 0 comm    |---aaa..|
        rank 1 step    |ssssssss|
        rank 1 comm    |.....-rr|
    )"));
    ASSERT_EQ(report.waiting.size(), 2u);
    EXPECT_EQ(report.waiting[0].late, RankId{1});
    EXPECT_EQ(report.waiting[0].waited.ns, 3 * kTick.ns);
    EXPECT_EQ(report.waiting[0].collectives, 1);
    EXPECT_EQ(report.waiting[1].late, RankId{0});
}

}  // namespace
}  // namespace shardscope::analysis
