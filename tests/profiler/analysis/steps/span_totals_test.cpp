#include "profiler/analysis/steps/step_parts.h"
#include "tests/support/random_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace shardscope::analysis {
namespace {

SpanEvent span(std::uint32_t name, std::int64_t start, std::int64_t duration,
               Phase phase = Phase::kForward) {
    SpanEvent event;
    event.name = {name};
    event.start = {start};
    event.duration = {duration};
    event.phase = phase;
    return event;
}

std::string_view nameOf(StringId id) {
    static constexpr std::string_view kNames[] = {"", "linear", "matmul", "add"};
    return kNames[id.value];
}

TEST(SpanTotals, InnerSpansAreNoSelfTime) {
    SpanTotals totals;
    totals.add({span(1, 0, 100), span(2, 10, 30), span(2, 40, 30), span(3, 200, 7)}, nameOf);
    const auto sorted = totals.sorted();
    ASSERT_EQ(sorted.size(), 3u);
    EXPECT_EQ(sorted[0].name, "matmul");
    EXPECT_EQ(sorted[0].count, 2);
    EXPECT_EQ(sorted[0].self.ns, 60);
    EXPECT_EQ(sorted[1].name, "linear");
    EXPECT_EQ(sorted[1].total.ns, 100);
    EXPECT_EQ(sorted[1].self.ns, 40);
    EXPECT_EQ(sorted[2].self.ns, 7);
}

TEST(SpanTotals, KnowsSpreadAndParts) {
    SpanTotals totals;
    totals.add({span(1, 0, 10), span(1, 20, 30, Phase::kBackward), span(1, 60, 20, Phase::kClip)},
               nameOf);
    const SpanTotal total = totals.sorted().at(0);
    EXPECT_EQ(total.meanNs(), 20);
    EXPECT_NEAR(total.deviationNs(), 8.165, 0.001);
    EXPECT_EQ(total.shortest.ns, 10);
    EXPECT_EQ(total.longest.ns, 30);
    const auto part = [&](StepPart wanted) {
        return total.selfByPart[static_cast<std::size_t>(wanted)].ns;
    };
    EXPECT_EQ(part(StepPart::kForward), 10);
    EXPECT_EQ(part(StepPart::kBackward), 30);
    EXPECT_EQ(part(StepPart::kOptimizer), 20);
    EXPECT_EQ(part(StepPart::kOther), 0);
}

TEST(SpanTotals, AddsLanesUpByName) {
    SpanTotals totals;
    totals.add({span(1, 0, 10)}, nameOf);
    totals.add({span(2, 0, 10)}, [](StringId) { return std::string_view("linear"); });
    EXPECT_EQ(totals.sorted().at(0).count, 2);
}

TEST(SpanTotals, AddsUpByLayerInTheOrderOfTheModel) {
    std::vector<SpanEvent> spans{span(1, 0, 10), span(2, 20, 30, Phase::kBackward), span(1, 60, 5),
                                 span(3, 70, 7)};
    spans[0].layer = {1};
    spans[1].layer = {1};
    spans[2].layer = kRootLayer;
    SpanTotals totals;
    EXPECT_TRUE(totals.empty());
    totals.add(spans, nameOf);
    const auto layers = totals.byLayer();
    ASSERT_EQ(layers.size(), 3u);
    EXPECT_EQ(layers[0].layer, kRootLayer);
    EXPECT_EQ(layers[1].layer, LayerIndex{1});
    EXPECT_EQ(layers[2].layer, kNoLayer);
    EXPECT_EQ(layers[1].count, 2);
    EXPECT_EQ(layers[1].self.ns, 40);
    EXPECT_EQ(layers[1].selfByPart[static_cast<std::size_t>(StepPart::kBackward)].ns, 30);
}

/// Self times are what the lane was busy with, however spans nest.
TEST(SpanTotals, SelfTimesAddUpToTheTimeThatAnythingRan) {
    test::RandomEvents random(3);
    for (int round = 0; round < 200; ++round) {
        std::vector<SpanEvent> spans = random.nestedSpans(100, {0});
        std::int64_t outer = 0;
        Timestamp reached{-1};
        for (SpanEvent& each : spans) {
            each.name = {1};
            if (each.start < reached) continue;
            outer += each.duration.ns;
            reached = each.end();
        }
        SpanTotals totals;
        totals.add(spans, nameOf);
        std::int64_t self = 0;
        for (const SpanTotal& total : totals.sorted()) self += total.self.ns;
        ASSERT_EQ(self, outer);
    }
}

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
