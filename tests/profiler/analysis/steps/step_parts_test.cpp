#include "profiler/analysis/steps/step_parts.h"

#include "tests/support/random_events.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shardscope::analysis {
namespace {

std::int64_t of(const PartTimes& times, StepPart part) {
    return times[static_cast<std::size_t>(part)].ns;
}

TEST(StepParts, AreToldByNames) {
    EXPECT_EQ(partOfName("## forward ##"), StepPart::kForward);
    EXPECT_EQ(partOfName("DistributedDataParallel.forward"), StepPart::kForward);
    EXPECT_EQ(partOfName("autograd::engine::evaluate_function: MulBackward0"), StepPart::kBackward);
    EXPECT_EQ(partOfName("Optimizer.step#SGD.step"), StepPart::kOptimizer);
    EXPECT_FALSE(partOfName("Optimizer.zero_grad#SGD.zero_grad"));
    EXPECT_FALSE(partOfName("aten::mm"));
    EXPECT_FALSE(partOfName(""));
}

TEST(StepParts, AreDisjoint) {
    PartRanges ranges;
    ranges[static_cast<std::size_t>(StepPart::kForward)] = {{{0}, {50}}, {{10}, {20}}};
    ranges[static_cast<std::size_t>(StepPart::kBackward)] = {{{40}, {80}}};
    ranges[static_cast<std::size_t>(StepPart::kOptimizer)] = {{{70}, {90}}, {{95}, {95}}};
    const PartTimes times = partTimes(ranges);
    EXPECT_EQ(of(times, StepPart::kForward), 40);
    EXPECT_EQ(of(times, StepPart::kBackward), 40);
    EXPECT_EQ(of(times, StepPart::kOptimizer), 10);
    EXPECT_EQ(of(times, StepPart::kOther), 0);
}

TEST(StepParts, AgreeWithLookingAtEveryTick) {
    constexpr std::int64_t kTicks = 40;
    constexpr StepPart kFirst[] = {StepPart::kBackward, StepPart::kOptimizer, StepPart::kForward,
                                   StepPart::kOther};
    test::RandomEvents random(5);
    for (int round = 0; round < 10'000; ++round) {
        PartRanges ranges;
        for (auto& part : ranges)
            for (std::int64_t i = random.between(0, 4); i > 0; --i) {
                const std::int64_t begin = random.between(0, kTicks);
                part.push_back({{begin}, {random.between(begin, kTicks)}});
            }
        PartTimes expected{};
        for (std::int64_t tick = 0; tick < kTicks; ++tick)
            for (const StepPart part : kFirst) {
                const auto& own = ranges[static_cast<std::size_t>(part)];
                const bool inside = std::any_of(own.begin(), own.end(), [&](const TimeRange& each) {
                    return each.contains({tick});
                });
                if (!inside) continue;
                ++expected[static_cast<std::size_t>(part)].ns;
                break;
            }
        ASSERT_EQ(partTimes(ranges), expected) << round;
    }
}

}  // namespace
}  // namespace shardscope::analysis
