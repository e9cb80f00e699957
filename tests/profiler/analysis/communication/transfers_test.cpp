// Collectives over all their ranks: who came last, how long data moved, what a link would take.
#include "profiler/analysis/communication/transfers.h"

#include "tests/support/random_events.h"

#include <gmock/gmock.h>

#include <cmath>

namespace shardscope::analysis {
namespace {

using testing::ElementsAre;
using testing::Optional;

CollectiveEvent gather(std::uint64_t sequence, std::int64_t start, std::int64_t end,
                       std::int64_t bytes) {
    CollectiveEvent event;
    event.operation = CollectiveOp::kAllGather;
    event.sequence = sequence;
    event.step = {0};
    event.size = {bytes};
    event.start = {start};
    event.end = {end};
    return event;
}

/// One collective of two ranks that start and end as said; arrivals are known or not.
std::vector<RankEvents> two(TimeRange first, TimeRange second, bool arrivals) {
    std::vector<RankEvents> ranks(2);
    for (const std::size_t r : {0U, 1U}) {
        const TimeRange range = r == 0 ? first : second;
        CollectiveEvent event = gather(1, range.begin.ns, range.end.ns, 4'000);
        if (arrivals) event.arrivals = {first.begin, second.begin};
        ranks[r].rank = {static_cast<std::uint32_t>(r)};
        ranks[r].collectives.push_back(event);
    }
    return ranks;
}

TEST(Transfers, BeginWhenTheLastRankHasArrived) {
    const auto transfers = transfersOf(two({{100}, {1'000}}, {{500}, {900}}, true), {});
    ASSERT_EQ(transfers.size(), 1u);
    const Transfer& transfer = transfers.front();
    EXPECT_EQ(transfer.ranks, 2);
    EXPECT_EQ(transfer.skew->ns, 400);
    EXPECT_EQ(transfer.late, RankId{1});
    EXPECT_EQ(transfer.waited.ns, 400);
    EXPECT_EQ(transfer.transfer->ns, 400);  // of rank 1, whose end came first
    EXPECT_DOUBLE_EQ(*transfer.algorithmBandwidth(), 4'000 / 400e-9);
    EXPECT_DOUBLE_EQ(*transfer.busBandwidth(), 2'000 / 400e-9);
    EXPECT_EQ(transfer.range, (TimeRange{{100}, {1'000}}));
}

/// One definition of alpha and beta, in `collectives`, `bench comm` and `calibrate`.
TEST(Transfers, AreFittedUntilTheLastRankHasItsResult) {
    std::vector<RankEvents> ranks = two({{0}, {3'000}}, {{500}, {900}}, true);
    const auto later = two({{10'000}, {16'000}}, {{10'500}, {11'000}}, true);
    for (const std::size_t r : {0U, 1U}) {
        ranks[r].collectives.push_back(later[r].collectives[0]);
        ranks[r].collectives[1].sequence = 2;
        ranks[r].collectives[1].size = {9'000};
    }
    const auto transfers = transfersOf(ranks, {});
    EXPECT_EQ(transfers.at(0).transfer->ns, 400);
    EXPECT_EQ(transfers.at(0).completion()->ns, 2'500);
    EXPECT_EQ(transfers.at(1).completion()->ns, 5'500);
    const auto fit = classesOf(transfers).at(0).fit;
    ASSERT_TRUE(fit);
    EXPECT_NEAR(fit->latencyNs, 100, 1e-6);  // 2,500 = 100 + 0.6 x 4,000; 5,500 = 100 + 0.6 x 9,000
    EXPECT_NEAR(fit->nsPerByte, 0.6, 1e-9);
}

TEST(Transfers, WithoutArrivalsAreTheShortestDuration) {
    const auto transfers = transfersOf(two({{100}, {1'000}}, {{500}, {1'000}}, false), {});
    ASSERT_EQ(transfers.size(), 1u);
    EXPECT_EQ(transfers[0].transfer->ns, 500);
    EXPECT_EQ(transfers[0].waited.ns, 400);
    EXPECT_FALSE(transfers[0].skew);
    EXPECT_FALSE(transfers[0].late);
}

TEST(Transfers, OfOneRankOfSeveralAreNotKnown) {
    auto ranks = two({{100}, {1'000}}, {{500}, {1'000}}, false);
    ranks.pop_back();
    const auto transfers = transfersOf(ranks, {});
    ASSERT_EQ(transfers.size(), 1u);
    EXPECT_FALSE(transfers[0].transfer);
    EXPECT_FALSE(transfers[0].busBandwidth());
    const auto classes = classesOf(transfers);
    ASSERT_EQ(classes.size(), 1u);
    EXPECT_EQ(classes[0].timed, 0);
    EXPECT_FALSE(classes[0].algorithmBandwidth);
}

TEST(Transfers, BarriersAndUnknownSizesHaveNoBandwidth) {
    auto ranks = two({{100}, {1'000}}, {{500}, {1'000}}, true);
    for (RankEvents& rank : ranks) rank.collectives[0].size = kUnknownSize;
    EXPECT_FALSE(transfersOf(ranks, {})[0].algorithmBandwidth());
    for (RankEvents& rank : ranks) rank.collectives[0].operation = CollectiveOp::kBarrier;
    EXPECT_TRUE(classesOf(transfersOf(ranks, {})).empty());
}

TEST(BusFactor, IsThatOfNcclTests) {
    EXPECT_THAT(busFactor(CollectiveOp::kAllReduce, 4), Optional(1.5));
    EXPECT_THAT(busFactor(CollectiveOp::kAllGather, 4), Optional(0.75));
    EXPECT_THAT(busFactor(CollectiveOp::kReduceScatter, 2), Optional(0.5));
    EXPECT_THAT(busFactor(CollectiveOp::kBroadcast, 8), Optional(1.0));
    EXPECT_FALSE(busFactor(CollectiveOp::kBarrier, 8));
    EXPECT_FALSE(busFactor(CollectiveOp::kAllReduce, 1));
}

TEST(AlphaBetaFit, FindsTheLineUnderTheNoise) {
    test::RandomEvents random(7);
    std::vector<SizedTime> times;
    for (const std::int64_t size : {1'000, 64'000, 1'000'000, 32'000'000})
        for (int i = 0; i < 50; ++i) {
            const auto exact = 20'000 + size / 4;  // 20 us, 4 GB/s
            times.push_back({{size}, {exact + (i == 0 ? 0 : random.between(0, exact))}});
        }
    const auto fit = fitAlphaBeta(times);
    ASSERT_TRUE(fit);
    EXPECT_NEAR(fit->latencyNs, 20'000, 20);
    EXPECT_NEAR(*fit->bytesPerSecond(), 4e9, 4e6);
    EXPECT_EQ(fit->sizes, 4);
    EXPECT_NEAR(fit->at({1'000'000}), 270'000, 300);
}

TEST(AlphaBetaFit, NeedsTwoSizesThatDiffer) {
    EXPECT_FALSE(fitAlphaBeta({}));
    EXPECT_FALSE(fitAlphaBeta({{{100}, {10}}, {{100}, {20}}}));
    EXPECT_FALSE(fitAlphaBeta({{{100}, {10}}, {{150}, {20}}}));
    EXPECT_FALSE(fitAlphaBeta({{{100}, {0}}, {{0}, {20}}}));
    EXPECT_TRUE(fitAlphaBeta({{{100}, {10}}, {{200}, {20}}}));
}

TEST(AlphaBetaFit, HasNoTermBelowZero) {
    const auto falling = fitAlphaBeta({{{100}, {40}}, {{1'000}, {20}}});
    ASSERT_TRUE(falling);
    EXPECT_EQ(falling->nsPerByte, 0);
    EXPECT_GT(falling->latencyNs, 0);
    EXPECT_FALSE(falling->bytesPerSecond());
    const auto steep = fitAlphaBeta({{{100}, {10}}, {{1'000}, {900}}});
    ASSERT_TRUE(steep);
    EXPECT_EQ(steep->latencyNs, 0);
    EXPECT_GT(steep->nsPerByte, 0);
}

/// Transfers of the times given, one size, one after the other.
std::vector<Transfer> likes(const std::vector<std::int64_t>& times) {
    std::vector<Transfer> transfers;
    for (const std::int64_t time : times) {
        Transfer transfer;
        transfer.operation = CollectiveOp::kAllReduce;
        transfer.ranks = 2;
        transfer.size = {1'000};
        transfer.transfer = Duration{time};
        transfers.push_back(transfer);
    }
    return transfers;
}

TEST(Outliers, AreOverOneAndAHalfOfTheMedianOfTheirLike) {
    const auto transfers = likes({100, 100, 150, 151, 90});
    EXPECT_THAT(overTypical(transfers), ElementsAre(Optional(1.0), Optional(1.0), Optional(1.5),
                                                    Optional(1.51), Optional(0.9)));
    EXPECT_EQ(classesOf(transfers).at(0).outliers, 1);
}

TEST(Outliers, AreNotToldOfTwo) {
    EXPECT_THAT(overTypical(likes({100, 900})), ElementsAre(std::nullopt, std::nullopt));
}

TEST(TransferClasses, AddUpWhatMoved) {
    auto transfers = likes({100, 300, 200});
    transfers[2].group = 3;
    transfers[2].ranks = 4;
    const auto classes = classesOf(transfers);
    ASSERT_EQ(classes.size(), 2u);
    EXPECT_EQ(classes[0].count, 2);
    EXPECT_EQ(classes[0].moved.ns, 400);
    EXPECT_EQ(classes[0].bytes.count, 2'000);
    EXPECT_DOUBLE_EQ(*classes[0].algorithmBandwidth, 2'000 / 400e-9);
    EXPECT_DOUBLE_EQ(*classes[0].bestBusBandwidth, 1'000 / 100e-9);
    EXPECT_EQ(classes[1].ranks, 4);
    EXPECT_FALSE(classes[0].fit);
}

}  // namespace
}  // namespace shardscope::analysis
