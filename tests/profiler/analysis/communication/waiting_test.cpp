// Who is waited for, in groups that are not the world.
#include "profiler/analysis/findings.h"
#include "profiler/analysis/intervals.h"
#include "storage/model/collective_key.h"

#include <gmock/gmock.h>

namespace shardscope::analysis {
namespace {

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
