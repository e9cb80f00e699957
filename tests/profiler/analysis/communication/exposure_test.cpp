#include "profiler/analysis/communication/exposure.h"

#include "profiler/analysis/findings.h"
#include "profiler/analysis/intervals.h"
#include "storage/model/collective_key.h"
#include "tests/support/random_events.h"
#include "tests/support/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardscope::analysis {
namespace {

using test::drawTimeline;

/// The only rank's exposures, collectives asked for `early` ns before they start.
std::vector<Exposure> exposures(test::Timeline drawn, std::int64_t early, Cause cause) {
    for (CollectiveEvent& event : drawn.ranks[0].collectives) {
        event.issue = event.start - Duration{early};
        event.cause = cause;
    }
    return exposuresOf(drawn.ranks[0], drawn.ranks, {});
}

TEST(Exposure, IsWhatComputeDoesNotCover) {
    const auto found = exposures(drawTimeline(R"(
        rank 0 step    |ssssssssssss|
        rank 0 compute |ffffffggbbbb|
        rank 0 comm    |...--aaa....|
    )"),
                                 2'000, Cause::kPrefetch);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].hidden.ns, 3'000);
    EXPECT_EQ(found[0].waiting.ns, 0);  // all of it behind compute
    EXPECT_EQ(found[0].moving.ns, 2'000);
    EXPECT_EQ(found[0].reason, ExposureReason::kLong);
}

TEST(Exposure, ThatWaitsIsARanks) {
    const auto found = exposures(drawTimeline(R"(
        rank 0 step    |ssssssssssss|
        rank 0 compute |ffgggggggbbb|
        rank 0 comm    |..-----aa...|
    )"),
                                 1'000, Cause::kPrefetch);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].waiting.ns, 5'000);
    EXPECT_EQ(found[0].reason, ExposureReason::kWaited);
}

TEST(Exposure, OfAnExchangeIsNeededAtOnce) {
    for (const Cause cause : {Cause::kActivation, Cause::kActivationGradient}) {
        const auto found = exposures(drawTimeline(R"(
            rank 0 step    |ssssssssssss|
            rank 0 compute |ffggggbbbbbb|
            rank 0 comm    |..aaaa......|
        )"),
                                     0, cause);
        EXPECT_EQ(found.at(0).reason, ExposureReason::kNeeded);
    }
}

TEST(Exposure, OfADemandIsIssuedLate) {
    const auto found = exposures(drawTimeline(R"(
        rank 0 step    |ssssssssssss|
        rank 0 compute |ffggggbbbbbb|
        rank 0 comm    |..aaaa......|
    )"),
                                 500, Cause::kDemand);
    EXPECT_EQ(found.at(0).reason, ExposureReason::kLate);
}

TEST(Exposure, BehindAnotherIsQueued) {
    auto drawn = drawTimeline(R"(
        rank 0 step    |ssssssssssss|
        rank 0 compute |ffffggggbbbb|
        rank 0 comm    |..aaaarrr...|
    )");
    auto& collectives = drawn.ranks[0].collectives;
    ASSERT_EQ(collectives.size(), 2u);
    for (CollectiveEvent& event : collectives) {
        event.cause = Cause::kPrefetch;
    }
    collectives[0].issue = {2'000};
    collectives[1].issue = {2'500};
    const auto found = exposuresOf(drawn.ranks[0], drawn.ranks, {});
    EXPECT_EQ(found.at(1).reason, ExposureReason::kQueued);
}

TEST(Exposure, OfLittleIsNone) {
    const auto found = exposures(drawTimeline(R"(
        rank 0 step    |ssssssssssss|
        rank 0 compute |ffffffffbbbb|
        rank 0 comm    |..aaaa......|
    )"),
                                 500, Cause::kPrefetch);
    EXPECT_EQ(found.at(0).exposed().ns, 0);
    EXPECT_EQ(found.at(0).reason, ExposureReason::kNone);
}

TEST(Exposure, WithoutArrivalsHasNoReason) {
    auto drawn = drawTimeline(R"(
        rank 0 step    |ssssssssssss|
        rank 0 kernels |ff......bbbb|
        rank 0 comm    |..aaaa......|
    )");
    drawn.ranks[0].collectives.at(0).arrivals = {};
    const auto found = exposuresOf(drawn.ranks[0], drawn.ranks, {});
    EXPECT_FALSE(found.at(0).waitingKnown);
    EXPECT_EQ(found.at(0).reason, ExposureReason::kUnknown);
    EXPECT_EQ(found.at(0).moving.ns, 4'000);
}

/// Every nanosecond looked at by itself.
TEST(Exposure, IsThatOfBruteForce) {
    test::RandomEvents random(5);
    for (int round = 0; round < 10'000; ++round) {
        RankEvents events;
        std::vector<bool> computing(200);
        for (std::int64_t at = random.between(0, 30); at < 200; at += random.between(1, 30)) {
            SpanEvent phase;
            phase.phase = Phase::kForward;
            phase.start = {at};
            phase.duration = {random.between(1, 30)};
            at += phase.duration.ns;
            for (std::int64_t t = phase.start.ns; t < std::min<std::int64_t>(at, 200); ++t)
                computing[static_cast<std::size_t>(t)] = true;
            events.phases.push_back(phase);
        }
        CollectiveEvent event;
        event.step = {0};
        event.start = {random.between(0, 150)};
        event.end = {random.between(event.start.ns, 199)};
        event.arrivals = {event.start, {random.between(0, 199)}};
        events.collectives.push_back(event);
        const Exposure told = exposuresOf(events, {events}, {}).at(0);
        std::int64_t hidden = 0, waiting = 0, moving = 0;
        for (std::int64_t t = event.start.ns; t < event.end.ns; ++t) {
            if (computing[static_cast<std::size_t>(t)])
                ++hidden;
            else
                ++(t < event.lastArrival().ns ? waiting : moving);
        }
        ASSERT_EQ(told.hidden.ns, hidden);
        ASSERT_EQ(told.waiting.ns, waiting);
        ASSERT_EQ(told.moving.ns, moving);
    }
}

Exposure exposure(LayerIndex layer, CollectiveOp operation, std::int64_t hidden,
                  std::int64_t waiting, std::int64_t moving, ExposureReason reason) {
    Exposure each;
    each.layer = layer;
    each.operation = operation;
    each.time = {hidden + waiting + moving};
    each.range = {{0}, {each.time.ns}};
    each.hidden = {hidden};
    each.waiting = {waiting};
    each.moving = {moving};
    each.waitingKnown = true;
    each.reason = reason;
    return each;
}

TEST(ExposureSums, ByLayerAddUpEachCollectiveByItself) {
    std::vector<Exposure> all{
        exposure({0}, CollectiveOp::kAllGather, 5, 2, 1, ExposureReason::kWaited),
        exposure({0}, CollectiveOp::kAllGather, 7, 0, 0, ExposureReason::kNone),
        exposure({0}, CollectiveOp::kReduceScatter, 1, 0, 3, ExposureReason::kLong),
        exposure(kNoLayer, CollectiveOp::kAllReduce, 0, 4, 4, ExposureReason::kLate)};
    all.back().waitingKnown = false;
    ExposureSums added;
    for (const Exposure& each : all) added.add(each);
    const auto& sums = added.byLayer();
    ASSERT_EQ(sums.size(), 3u);
    const ExposureSum& gathers = sums.at({{0}, CollectiveOp::kAllGather});
    EXPECT_EQ(gathers.count, 2);
    EXPECT_EQ(gathers.whole.ns, 15);
    EXPECT_EQ(gathers.hidden.ns, 12);
    EXPECT_EQ(gathers.exposed().ns, 3);
    EXPECT_TRUE(gathers.waitingKnown);
    EXPECT_FALSE(sums.at({kNoLayer, CollectiveOp::kAllReduce}).waitingKnown);
}

TEST(ExposureSums, ByReasonStandInTheOrderOfTheirTime) {
    ExposureSums added;
    added.add(exposure({0}, CollectiveOp::kAllGather, 5, 2, 1, ExposureReason::kWaited));
    added.add(exposure({0}, CollectiveOp::kAllGather, 7, 0, 1, ExposureReason::kNone));
    added.add(exposure({1}, CollectiveOp::kAllGather, 5, 0, 9, ExposureReason::kLate));
    added.add(exposure({2}, CollectiveOp::kAllGather, 5, 4, 1, ExposureReason::kWaited));
    const auto sums = added.byReason();
    ASSERT_EQ(sums.size(), 3u);
    EXPECT_EQ(sums[0].reason, ExposureReason::kLate);
    EXPECT_EQ(sums[0].exposed.ns, 9);
    EXPECT_EQ(sums[1].reason, ExposureReason::kWaited);
    EXPECT_EQ(sums[1].exposed.ns, 8);
    EXPECT_EQ(sums[1].count, 2);
    EXPECT_EQ(sums[2].reason, ExposureReason::kNone);
}

// Who is waited for, in groups that are not the world.

constexpr RankId r0{0}, r1{1}, r2{2}, r3{3};

/// Ranks 0 and 2 form group 5, ranks 1 and 3 group 6; the second place of each arrives 40 ns late.
std::vector<RankEvents> twoGroups() {
    std::vector<RankEvents> ranks;
    for (const RankId rank : {r0, r1, r2, r3}) {
        CollectiveEvent event;
        event.group = 5 + rank.value % 2;
        event.sequence = 1;
        event.step = {0};
        event.arrivals = {{100}, {140}};
        event.start = event.arrivals[rank.value / 2];
        event.end = {200};
        RankEvents events;
        events.rank = rank;
        events.collectives.push_back(event);
        ranks.push_back(events);
    }
    return ranks;
}

TEST(Waiting, NamesRanksNotPlacesInAGroup) {
    const auto late = lateRanks(twoGroups()).named;
    ASSERT_EQ(late.size(), 2u);
    for (const WaitingForRank& waiting : late) {
        EXPECT_THAT(waiting.late, testing::AnyOf(r2, r3));
        EXPECT_EQ(waiting.waited.ns, 40);
        EXPECT_EQ(waiting.collectives, 1);
    }
}

TEST(Waiting, IsUnknownWhereAMemberIsNotRecorded) {
    auto ranks = twoGroups();
    ranks.pop_back();  // rank 3, of group 6
    const auto late = lateRanks(ranks).named;
    ASSERT_EQ(late.size(), 1u);
    EXPECT_EQ(late[0].late, r2);
}

TEST(Groups, AreTheRanksThatTookPart) {
    EXPECT_THAT(groupMembers(twoGroups(), 5), testing::ElementsAre(r0, r2));
    EXPECT_THAT(groupMembers(twoGroups(), 6), testing::ElementsAre(r1, r3));
    EXPECT_THAT(groupMembers(twoGroups(), 7), testing::IsEmpty());
    EXPECT_THAT(groupMembers(twoGroups(), 0), testing::ElementsAre(r0, r1, r2, r3));
}

TEST(CollectiveKey, ComesBackFromACorrelation) {
    for (const std::uint64_t sequence : {1ULL, 77'777ULL, (1ULL << 47) + 3}) {
        for (const std::uint32_t group : {0U, 1U, 4095U}) {
            const CollectiveKey key{group, sequence};
            const CollectiveKey back = CollectiveKey::of(key.correlation());
            EXPECT_EQ(back.group, group);
            EXPECT_EQ(back.sequence, sequence);
        }
    }
    // A message between two ranks of the world.
    const std::uint64_t message = (1ULL << 60) + (3ULL << 36) + 9;
    EXPECT_EQ(CollectiveKey::of(message).group, 0u);
    EXPECT_EQ(CollectiveKey::of(message).sequence, message);
}

}  // namespace
}  // namespace shardscope::analysis
