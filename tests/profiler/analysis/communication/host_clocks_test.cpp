// What can be said of times of two hosts, by what was measured and by collectives.
#include "profiler/analysis/communication/host_clocks.h"

#include "profiler/analysis/findings.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <gmock/gmock.h>

#include <random>

namespace shardscope::analysis {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr RankId r0{0}, r1{1}, r2{2}, r3{3};

/// Ranks 0 and 1 on host 0, the recorder's; 2 and 3 on host 1, known within 80 us at the start.
RecordingSummary twoHosts() {
    RecordingSummary summary;
    summary.run.worldSize = 4;
    for (std::int32_t host = 0; host < 2; ++host) {
        HostFacts facts;
        facts.host = host;
        facts.name = host == 0 ? "node-a" : "node-b";
        facts.clockErrorNs = host * 80'000;
        facts.clockOffsetNs = host * 1'000;
        summary.hosts.push_back(facts);
    }
    for (const RankId rank : {r0, r1, r2, r3}) {
        RankFacts facts;
        facts.rank = rank;
        facts.host = rank.value < 2 ? 0 : 1;
        summary.ranks.push_back(facts);
    }
    return summary;
}

ClockFacts compared(std::int64_t timeNs, std::int64_t residualNs, std::int64_t errorNs) {
    ClockFacts clock;
    clock.host = 1;
    clock.time = {timeNs};
    clock.offsetNs = 2'000;
    clock.driftPpb = 150'000;
    clock.residualNs = residualNs;
    clock.errorNs = errorNs;
    return clock;
}

/// One collective of all ranks.
struct Passed {
    std::vector<std::int64_t> arrivals, ends;
};

std::vector<RankEvents> passing(const std::vector<Passed>& collectives,
                                CollectiveOp operation = CollectiveOp::kAllGather) {
    std::vector<RankEvents> ranks(4);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        ranks[i].rank = RankId{static_cast<std::uint32_t>(i)};
        std::uint64_t sequence = 0;
        for (const Passed& each : collectives) {
            CollectiveEvent event;
            event.operation = operation;
            event.sequence = ++sequence;
            event.step = {0};
            event.start = {each.arrivals[i]};
            event.end = {each.ends[i]};
            event.arrivals = {each.arrivals.size(),
                              [&](std::size_t place) { return Timestamp{each.arrivals[place]}; }};
            ranks[i].collectives.push_back(event);
        }
    }
    return ranks;
}

TEST(HostClocks, OneHostIsNeverInDoubt) {
    const HostClocks clocks;
    EXPECT_FALSE(clocks.several());
    EXPECT_EQ(clocks.doubt(r0, r3, {5}), Duration{0});
    CollectiveEvent event;
    event.arrivals = {{1}, {2}};
    EXPECT_TRUE(clocks.tellsLast(event, {}));
}

TEST(HostClocks, TheWorseOfTheComparisonsAroundATimeCounts) {
    RecordingSummary summary = twoHosts();
    summary.clocks = {compared(2 * kSecond, -60'000, 5'000), compared(6 * kSecond, 1'000, 4'000)};
    const HostClocks clocks(summary, {});
    EXPECT_EQ(clocks.doubt(r0, r2, {kSecond}), Duration{80'000});
    EXPECT_EQ(clocks.doubt(r2, r0, {3 * kSecond}), Duration{65'000});
    EXPECT_EQ(clocks.doubt(r1, r3, {7 * kSecond}), Duration{5'000});
    EXPECT_EQ(clocks.doubt(r2, r3, {3 * kSecond}), Duration{0}) << "one clock";
    const HostClock& far = clocks.hosts()[1];
    EXPECT_EQ(far.comparisons, 2);
    EXPECT_EQ(far.offsetNs, 2'000);
    EXPECT_EQ(far.residual, Duration{35'000}) << "the median";
    EXPECT_EQ(far.worstResidual, Duration{65'000});
    EXPECT_EQ(clockText(clocks.hosts()[0]), "the recorder's own");
    EXPECT_EQ(clockText(far),
              "right within 35.0 us (worst 65.0 us), drift 150.0 ppm, compared 2 times");
}

TEST(HostClocks, AStepIsCountedAndIsNoResidual) {
    RecordingSummary summary = twoHosts();
    summary.clocks = {compared(2 * kSecond, 1'000, 4'000), compared(6 * kSecond, kSecond, 4'000)};
    summary.clocks.back().stepped = true;
    const HostClocks clocks(summary, {});
    EXPECT_EQ(clocks.hosts()[1].steps, 1);
    EXPECT_EQ(clocks.hosts()[1].worstResidual, Duration{5'000});
    EXPECT_EQ(clocks.doubt(r0, r2, {5 * kSecond}), Duration{kSecond + 4'000}) << "nobody knew";
    EXPECT_THAT(clockText(clocks.hosts()[1]), testing::HasSubstr(", set once"));
}

TEST(HostClocks, CollectivesTightenWhatWasMeasured) {
    // Left by host 0 10 us after host 1 came, and by host 1 20 us after host 0 came.
    const auto ranks =
        passing({{{0, 0, 100'000, 100'000}, {110'000, 110'000, 130'000, 130'000}},
                 {{300'000, 300'000, 200'000, 200'000}, {330'000, 330'000, 320'000, 320'000}}});
    const HostClocks clocks(twoHosts(), ranks);
    const auto proven = clocks.provenBetween(0, 1, {0});
    ASSERT_TRUE(proven);
    EXPECT_EQ(proven->mostNs, 10'000);
    EXPECT_EQ(proven->leastNs, -20'000);
    EXPECT_EQ(clocks.provenBetween(1, 0, {0})->mostNs, 20'000);
    EXPECT_EQ(clocks.doubt(r0, r2, {0}), Duration{20'000});
    EXPECT_EQ(clocks.doubt(r0, r2, {11 * kSecond}), Duration{80'000}) << "another window";
    EXPECT_EQ(clocks.contradictions(), 0);
}

TEST(HostClocks, TheStatedResidualIsTightenedAgainstTheRecordersOwnHost) {
    RecordingSummary summary = twoHosts();
    summary.clocks = {compared(kSecond, -10'000, 50'000)};
    const auto ranks =
        passing({{{0, 0, 100'000, 100'000}, {110'000, 110'000, 130'000, 130'000}},
                 {{300'000, 300'000, 200'000, 200'000}, {330'000, 330'000, 320'000, 320'000}}});
    EXPECT_EQ(HostClocks(summary, {}).hosts()[1].residual, Duration{60'000});
    EXPECT_EQ(HostClocks(summary, ranks).hosts()[1].residual, Duration{20'000});
    EXPECT_TRUE(HostClocks(summary, ranks).proofs().empty());
}

TEST(HostClocks, ABroadcastProvesNothing) {
    const HostClocks clocks(
        twoHosts(), passing({{{0, 0, 100, 100}, {110, 110, 130, 130}}}, CollectiveOp::kBroadcast));
    EXPECT_FALSE(clocks.provenBetween(0, 1, {0}));
}

TEST(HostClocks, WhatContradictsTheMeasurementIsNotCompared) {
    // Host 0 left 200 us before host 1 seems to have come: 80 us were thought possible.
    const auto ranks = passing({{{0, 0, 300'000, 300'000}, {100'000, 100'000, 400'000, 400'000}}});
    const HostClocks clocks(twoHosts(), ranks);
    EXPECT_EQ(clocks.provenBetween(0, 1, {0})->mostNs, -200'000) << "host 0 is behind";
    EXPECT_FALSE(clocks.doubt(r0, r2, {0}));
    EXPECT_EQ(clocks.contradictions(), 1);
    const auto proofs = clocks.proofs();
    ASSERT_EQ(proofs.size(), 1u);
    EXPECT_EQ(proofs[0].first, 1) << "its times are late";
    EXPECT_EQ(proofs[0].second, 0);
    EXPECT_EQ(proofs[0].ahead, Duration{200'000});
    EXPECT_EQ(proofs[0].window.begin, Timestamp{0});
    EXPECT_EQ(lateRanks(ranks, clocks).unknown.collectives, 1);
}

TEST(HostClocks, TheLastRankIsNamedOnlyWhereItIsCertain) {
    // Ranks 2 and 3 are 50 us late, then 500; ranks 1 and 0 differ on one clock.
    const auto ranks = passing({{{0, 0, 50'000, 40'000}, {900'000, 900'000, 900'000, 900'000}},
                                {{2'000'000, 2'000'000, 2'500'000, 2'490'000},
                                 {3'000'000, 3'000'000, 3'000'000, 3'000'000}},
                                {{4'000'000, 4'100'000, 4'000'000, 4'000'000},
                                 {5'000'000, 5'000'000, 5'000'000, 5'000'000}}});
    const HostClocks clocks(twoHosts(), ranks);
    const LateRanks late = lateRanks(ranks, clocks);
    EXPECT_EQ(late.unknown.collectives, 1);
    EXPECT_EQ(late.unknown.waited, Duration{50'000 + 50'000 + 10'000});
    ASSERT_EQ(late.named.size(), 2u);
    EXPECT_EQ(late.named[0].late, r2);
    EXPECT_EQ(late.named[1].late, r1);
    EXPECT_EQ(lateRanks(ranks).unknown.collectives, 0) << "without hosts nothing is in doubt";
}

/// Whatever the clocks are off by within what was measured, nothing that is proven is wrong.
TEST(HostClocks, ProofsHoldForDrawnRuns) {
    std::mt19937 random(9);
    const auto draw = [&](std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution(least, most)(random);
    };
    for (int round = 0; round < 200; ++round) {
        const std::int64_t ahead = draw(-80'000, 80'000);  // of host 1
        std::vector<Passed> collectives;
        std::int64_t now = 0;
        for (int i = 0; i < 30; ++i, now += 10'000'000) {
            Passed each;
            std::int64_t last = 0;
            for (std::size_t rank = 0; rank < 4; ++rank) {
                each.arrivals.push_back(now + draw(0, 1'000'000));
                last = std::max(last, each.arrivals.back());
            }
            for (std::size_t rank = 0; rank < 4; ++rank) {
                each.ends.push_back(last + draw(1'000, 200'000) + (rank < 2 ? 0 : ahead));
                if (rank >= 2) each.arrivals[rank] += ahead;
            }
            collectives.push_back(each);
        }
        const HostClocks clocks(twoHosts(), passing(collectives));
        const auto proven = clocks.provenBetween(1, 0, {0});
        ASSERT_TRUE(proven);
        EXPECT_LE(proven->leastNs, ahead);
        EXPECT_GE(proven->mostNs, ahead);
        EXPECT_EQ(clocks.contradictions(), 0);
        EXPECT_GE(*clocks.doubt(r0, r2, {0}), Duration{std::abs(ahead)});
        EXPECT_LE(*clocks.doubt(r0, r2, {0}), Duration{80'000});
    }
}

}  // namespace
}  // namespace shardscope::analysis
