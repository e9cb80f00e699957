// Which part of a recording is looked at: ranks, steps and a range, each by itself and together.
#include "profiler/questions/selection.h"

#include "tests/support/result_matchers.h"
#include "tests/support/timeline.h"

#include <gmock/gmock.h>

namespace shardscope::questions {
namespace {

using test::drawTimeline;
using testing::HasSubstr;

test::Timeline twoRanks() {
    test::Timeline drawn = drawTimeline(R"(
        rank 0 step    |.ssss1ssss.ssss.|
        rank 0 compute |.ffbb.ffbb.ffbb.|
        rank 0 kernels |.kkkkkkkkkkkkkk.|
        rank 1 step    |.ssss1ssss.ssss.|
        rank 1 compute |.ffbb.ffbb.ffbb.|
    )");
    drawn.summary.bounds = {{0}, {16'000}};
    return drawn;
}

TEST(Selection, OfNothingInParticularIsAll) {
    const auto drawn = twoRanks();
    const Selection all;
    const auto selected = all.of(drawn.summary);
    ASSERT_TRUE(selected);
    EXPECT_EQ(selected->steps.size(), drawn.summary.steps.size());
    EXPECT_FALSE(all.cutsTime());
    EXPECT_EQ(all.of(*selected, drawn.ranks[0]).phases.size(), 6u);
}

TEST(Selection, OfAStepIsThatStepAlone) {
    const auto drawn = twoRanks();
    Selection selection;
    selection.steps = {{{1}, {1}}};
    selection.ranks = {{0}};
    const auto selected = selection.of(drawn.summary);
    ASSERT_TRUE(selected);
    ASSERT_EQ(selected->steps.size(), 1u);
    EXPECT_EQ(selected->steps[0].step, StepIndex{1});
    EXPECT_EQ(selected->ranks.size(), 1u);
    EXPECT_EQ(selection.timeOf(*selected, {0}), selected->steps[0].range());
    const RankEvents events = selection.of(*selected, drawn.ranks[0]);
    EXPECT_EQ(events.phases.size(), 2u);
    ASSERT_EQ(events.computeKernels.size(), 1u);  // cut at the step's edges
    EXPECT_EQ(events.computeKernels[0], selected->steps[0].range());
}

TEST(Selection, OfARangeHasTheStepsThatLieInItWhole) {
    const auto drawn = twoRanks();
    Selection selection;
    selection.range = TimeRange{{0}, {8'000}};
    const auto selected = selection.of(drawn.summary);
    ASSERT_TRUE(selected);
    ASSERT_EQ(selected->steps.size(), 2u);  // step 0 of either rank
    EXPECT_EQ(selection.timeOf(*selected, {0}).end.ns, 8'000);
}

TEST(Selection, OfWhatIsNotThereSaysWhatIs) {
    const auto drawn = twoRanks();
    Selection selection;
    selection.steps = {{{7}, {9}}};
    EXPECT_THAT(selection.of(drawn.summary).error().message, HasSubstr("it has steps 0 to 2"));
    selection = {};
    selection.ranks = {{5}};
    EXPECT_THAT(selection.of(drawn.summary).error().message, HasSubstr("no rank 5"));
    selection = {};
    selection.range = TimeRange{{50'000'000'000}, {60'000'000'000}};
    EXPECT_THAT(selection.of(drawn.summary).error().message, HasSubstr("nothing lies in"));
    EXPECT_EQ(selection.of(drawn.summary).error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace shardscope::questions
