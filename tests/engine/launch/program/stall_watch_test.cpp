// Who holds up a collective.
#include "engine/launch/program/stall_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardscope::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration kLimit{60'000'000'000};

capture::CollectiveProgress waits(std::uint64_t sequence, std::int64_t waitedSeconds,
                                  const char* group = "0") {
    return {group, sequence + 1, sequence, "all-reduce", waitedSeconds * 1'000'000'000};
}
capture::CollectiveProgress idle(std::uint64_t issued, const char* group = "0") {
    return {group, issued, 0, "", 0};
}

TEST(StallWatch, NamesTheRankThatHasNotEntered) {
    StallWatch watch;
    watch.nameGroup("0", "0,1,2");
    watch.note(RankId{0}, waits(17, 70));
    watch.note(RankId{1}, idle(17));
    watch.note(RankId{2}, waits(17, 61));
    const auto stalls = watch.look(kLimit);
    ASSERT_EQ(stalls.size(), 1u);
    EXPECT_THAT(stalls[0].waiting, ElementsAre(RankId{0}, RankId{2}));
    EXPECT_THAT(stalls[0].missing, ElementsAre(RankId{1}));
    EXPECT_EQ(stalls[0].sequence, 17u);
    EXPECT_EQ(stalls[0].waited.ns, 70'000'000'000);
    EXPECT_TRUE(watch.look(kLimit).empty()) << "it is said once";
}

TEST(StallWatch, ARankThatSaidNothingIsMissing) {
    StallWatch watch;
    watch.nameGroup("5", "0,3");
    watch.note(RankId{0}, waits(0, 100, "5"));
    const auto stalls = watch.look(kLimit);
    ASSERT_EQ(stalls.size(), 1u);
    EXPECT_THAT(stalls[0].missing, ElementsAre(RankId{3}));
}

TEST(StallWatch, WhereAllHaveEnteredNoRankIsBlamed) {
    StallWatch watch;
    watch.note(RankId{0}, waits(3, 100));
    watch.note(RankId{1}, waits(3, 90));
    const auto stalls = watch.look(kLimit);
    ASSERT_EQ(stalls.size(), 1u);
    EXPECT_THAT(stalls[0].missing, IsEmpty());
}

TEST(StallWatch, ShortWaitsAreNone) {
    StallWatch watch;
    watch.note(RankId{0}, waits(3, 59));
    watch.note(RankId{1}, idle(3));
    EXPECT_TRUE(watch.look(kLimit).empty());
}

TEST(StallWatch, ANewAttemptBeginsAnew) {
    StallWatch watch;
    watch.nameGroup("0", "0,1");
    watch.note(RankId{1}, idle(500));
    watch.forget(RankId{1});
    watch.note(RankId{0}, waits(2, 80));
    const auto stalls = watch.look(kLimit);
    ASSERT_EQ(stalls.size(), 1u);
    EXPECT_THAT(stalls[0].missing, ElementsAre(RankId{1}));
}

}  // namespace
}  // namespace shardscope::launch
