#include "profiler/analysis/communication/collective_figures.h"

#include <gtest/gtest.h>

namespace shardscope::analysis {
namespace {

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
