#include "profiler/analysis/communication/last_arrivals.h"

#include "profiler/analysis/communication/collective_figures.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "tests/support/random_events.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace shardscope::analysis {
namespace {

/// Four ranks on two hosts whose clocks are right within 10; collectives of the world and of pairs.
struct Drawn {
    RecordingSummary summary;
    std::vector<RankEvents> ranks;
};

Drawn draw(test::RandomEvents& random, bool severalHosts) {
    Drawn drawn;
    for (std::int32_t host = 0; host < 2; ++host)
        drawn.summary.hosts.push_back(
            {host, "node", "", 1, {}, "", 0, severalHosts ? 5 * host + 5 : 0});
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        RankFacts facts;
        facts.rank = {rank};
        facts.host = static_cast<std::int32_t>(rank / 2);
        drawn.summary.ranks.push_back(facts);
        drawn.ranks.push_back({});
        drawn.ranks.back().rank = {rank};
    }
    for (std::uint64_t sequence = 1; sequence <= 10; ++sequence) {
        CollectiveEvent event;
        event.operation = CollectiveOp::kBroadcast;  // proves nothing of clocks
        event.sequence = sequence;
        event.group = random.between(0, 2) == 0 ? 7 : 0;
        const std::size_t members = event.group == 7 ? 2 : 4;
        event.arrivals = {members,
                          [&](std::size_t) { return Timestamp{random.between(100, 140)}; }};
        event.end = {200};
        for (std::size_t place = 0; place < members; ++place) {
            const std::size_t rank = event.group == 7 ? 1 + place : place;  // across the hosts
            event.start = event.arrivals[place];
            drawn.ranks[rank].collectives.push_back(event);
        }
    }
    return drawn;
}

TEST(LastArrivals, AreThoseOfEachCollectiveByItself) {
    test::RandomEvents random(3);
    int told = 0, unknown = 0;
    for (int round = 0; round < 500; ++round) {
        const Drawn drawn = draw(random, round % 4 != 0);
        const HostClocks clocks(drawn.summary, drawn.ranks);
        LastArrivals last(drawn.ranks, clocks);
        for (const RankEvents& events : drawn.ranks)
            for (const CollectiveEvent& event : events.collectives) {
                const auto members = groupMembers(drawn.ranks, event.group);
                ASSERT_EQ(last.members(event.group), members);
                const LastArrival found = last.of(event);
                ASSERT_EQ(found.rank, lastToArrive(event, members));
                ASSERT_EQ(found.certain, clocks.tellsLast(event, members));
                ++(found.certain ? told : unknown);
            }
    }
    EXPECT_GT(told, 100);
    EXPECT_GT(unknown, 100);
}

TEST(LastArrivals, OfAGroupWithoutAllItsRanksAreNotKnown) {
    test::RandomEvents random(5);
    const Drawn drawn = draw(random, true);
    const HostClocks clocks(drawn.summary, drawn.ranks);
    LastArrivals last(drawn.ranks, clocks);
    CollectiveEvent pair, world, unknown;
    pair.group = 7;
    pair.arrivals = {{1}, {2}, {3}};
    EXPECT_EQ(last.of(pair).rank, std::nullopt);
    world.arrivals = {{1}, {2}, {3}};
    EXPECT_EQ(last.of(world).rank, RankId{2}) << "places of the world are its ranks";
    EXPECT_EQ(last.of(unknown).rank, std::nullopt);
    EXPECT_TRUE(last.members(8).empty());
}

/// Each host's latest arrival decides: what a look at each rank says.
TEST(LastArrivals, AreToldByWhatEachRankOfAnotherHostIsApart) {
    test::RandomEvents random(11);
    for (int round = 0; round < 2000; ++round) {
        const Drawn drawn = draw(random, true);
        const HostClocks clocks(drawn.summary, drawn.ranks);
        const CollectiveEvent& event = drawn.ranks[1].collectives.front();
        const auto members = groupMembers(drawn.ranks, event.group);
        const RankId late = *lastToArrive(event, members);
        bool told = true;
        for (std::size_t place = 0; place < event.arrivals.size(); ++place) {
            if (clocks.hostOf(members[place]) == clocks.hostOf(late)) continue;
            const auto doubt = clocks.doubt(late, members[place], event.arrivals.last());
            told = told && doubt && event.arrivals.last() - event.arrivals[place] >= *doubt;
        }
        ASSERT_EQ(clocks.tellsLast(event, members), told) << round;
    }
}

Transfer transfer(StepIndex step, std::optional<RankId> late, std::int64_t skew,
                  std::int64_t waited) {
    Transfer each;
    each.step = step;
    each.late = late;
    if (late) each.skew = Duration{skew};
    each.waited = {waited};
    return each;
}

TEST(ArrivalSkew, SaysWhoComesLastHowOftenAndByHowMuch) {
    const ArrivalSkew skew =
        arrivalSkew({transfer({0}, RankId{1}, 30, 90), transfer({0}, RankId{1}, 10, 20),
                     transfer({1}, RankId{0}, 50, 200), transfer({1}, RankId{1}, 20, 40)});
    ASSERT_EQ(skew.ranks.size(), 2u);
    EXPECT_EQ(skew.known, 4);
    EXPECT_EQ(skew.unknown, 0);
    EXPECT_EQ(skew.ranks[0].rank, RankId{0});  // the others waited longest for it
    EXPECT_EQ(skew.ranks[0].waited.ns, 200);
    EXPECT_EQ(skew.ranks[1].collectives, 3);
    EXPECT_EQ(skew.ranks[1].median.ns, 20);
    EXPECT_EQ(skew.ranks[1].longest.ns, 30);
    EXPECT_EQ(skew.ranks[1].waited.ns, 150);
}

TEST(ArrivalSkew, CountsWhatCannotBeToldAndLeavesOutWhatIsNoStep) {
    const ArrivalSkew skew =
        arrivalSkew({transfer({0}, std::nullopt, 0, 9), transfer(kNoStep, RankId{1}, 5, 5)});
    EXPECT_TRUE(skew.ranks.empty());
    EXPECT_EQ(skew.known, 0);
    EXPECT_EQ(skew.unknown, 1);
    EXPECT_TRUE(arrivalSkew({}).ranks.empty());
}

}  // namespace
}  // namespace shardscope::analysis
