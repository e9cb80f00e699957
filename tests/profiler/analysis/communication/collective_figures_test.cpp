#include "profiler/analysis/communication/collective_figures.h"

#include "tests/support/timeline.h"

#include <gtest/gtest.h>

namespace shardscope::analysis {
namespace {

using test::kTick;

CollectiveEvent gather() {
    CollectiveEvent event;
    event.operation = CollectiveOp::kAllGather;
    event.start = {0};
    event.arrivals = {{0}, {1'000'000}, {500'000}, {200'000}};
    event.end = {3'000'000};
    event.size = {4'000'000};
    return event;
}

TEST(CollectiveFigures, NameTheLastToArrive) {
    EXPECT_EQ(lastToArrive(gather(), {{4}, {7}, {8}, {9}}), RankId{7});
    EXPECT_EQ(lastToArrive(gather(), {}), RankId{1}) << "the place, where members are not known";
    CollectiveEvent alone = gather();
    alone.arrivals = {{0}};
    EXPECT_EQ(lastToArrive(alone, {{4}}), std::nullopt);
}

TEST(CollectiveFigures, BusBandwidthCountsWhatCrossesTheLinkWhileDataMoves) {
    // 3 of 4 parts of 4 MB in the 2 ms after the last arrival
    EXPECT_DOUBLE_EQ(*busBandwidth(gather()), 3e6 / 2e-3);
    CollectiveEvent other = gather();
    other.operation = CollectiveOp::kAllReduce;  // there and back
    EXPECT_DOUBLE_EQ(*busBandwidth(other), 6e6 / 2e-3);
    other.operation = CollectiveOp::kBarrier;
    EXPECT_EQ(busBandwidth(other), std::nullopt);
    other = gather();
    other.size = kUnknownSize;
    EXPECT_EQ(busBandwidth(other), std::nullopt);
    other = gather();
    other.end = other.lastArrival();
    EXPECT_EQ(busBandwidth(other), std::nullopt);
}

TEST(CollectiveFigures, SumsLeaveOutWhatLiesOutsideOfSteps) {
    RankEvents events;
    events.rank = RankId{2};
    events.collectives = {gather(), gather()};
    events.collectives[1].step = {0};
    events.collectives[1].start = {800'000};
    CommunicationSum sum = communicationIn({&events}, {{0}, {5'000'000}});
    EXPECT_EQ(sum.collectives, 1);
    EXPECT_EQ(sum.waiting.ns, 200'000);
    EXPECT_EQ(sum.moving.ns, 2'000'000);
    EXPECT_EQ(sum.longestWait.ns, 200'000);
    EXPECT_EQ(sum.waitingRank, RankId{2});
    events.collectives.pop_back();
    sum = communicationIn({&events}, {{0}, {5'000'000}});
    EXPECT_EQ(sum.waiting.ns, 1'000'000) << "where steps have none, those outside are all there is";
    EXPECT_EQ(communicationIn({&events}, {{4'000'000}, {5'000'000}}).collectives, 0);
}

TEST(CollectiveFigures, SumsEndWhereTheRangeDoes) {
    RankEvents events;
    events.collectives = {gather()};  // waits until 1 ms, moves until 3 ms
    const CommunicationSum sum = communicationIn({&events}, {{900'000}, {1'500'000}});
    EXPECT_EQ(sum.collectives, 1);
    EXPECT_EQ(sum.waiting.ns, 100'000);
    EXPECT_EQ(sum.moving.ns, 500'000);
    EXPECT_EQ(sum.longestWait.ns, 100'000);
    const CommunicationSum late = communicationIn({&events}, {{2'000'000}, {2'500'000}});
    EXPECT_EQ(late.waiting.ns, 0);
    EXPECT_EQ(late.moving.ns, 500'000);
}

TEST(CollectiveFigures, SumsSayWhatOfWaitingIsInValidation) {
    RankEvents events;
    events.collectives = {gather()};  // waits until 1 ms
    SpanEvent phase;
    phase.phase = Phase::kEvaluation;
    phase.start = {700'000};
    phase.duration = {8'300'000};
    events.phases = {phase};
    const auto sumIn = [&](TimeRange range) { return communicationIn({&events}, range); };
    EXPECT_EQ(sumIn({{0}, {5'000'000}}).waitingInValidation.ns, 300'000);
    EXPECT_EQ(sumIn({{900'000}, {5'000'000}}).waitingInValidation.ns, 100'000);
    EXPECT_EQ(sumIn({{2'000'000}, {5'000'000}}).waitingInValidation.ns, 0);
    events.phases[0].phase = Phase::kForward;
    EXPECT_EQ(sumIn({{0}, {5'000'000}}).waitingInValidation.ns, 0);
}

TEST(CollectiveFigures, OnlyWorkHidesCommunication) {
    const auto timeline = test::drawTimeline(R"(
        rank 0 step    |ssssssssssss|
        rank 0 compute |ffggeebbdd..|
    )");
    const TimeRange all{{0}, Timestamp{12 * kTick.ns}};
    EXPECT_EQ(notBehindCompute(timeline.ranks[0], all).ns, 8 * kTick.ns);
    EXPECT_EQ(notBehindCompute(timeline.ranks[0], {{kTick.ns}, {3 * kTick.ns}}).ns, kTick.ns);
}

}  // namespace
}  // namespace shardscope::analysis
