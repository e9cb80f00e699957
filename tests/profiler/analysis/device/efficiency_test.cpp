#include "profiler/analysis/device/efficiency.h"

#include "tests/support/timeline.h"

#include <gmock/gmock.h>

#include <map>

namespace shardscope::analysis {
namespace {

using test::drawTimeline;

TEST(Efficiency, CountsTheReferenceModelAsOthersDo) {
    // 70,028 tokens/s on an A100 of 312 TFLOP/s: performance reference 1.2.
    const auto model = run::findModelPreset("ref");
    ASSERT_TRUE(model);
    const auto all = utilisationBy(*model, 70'028, 312e12);
    ASSERT_EQ(all.size(), kAll<theory::FlopsVariant>.size());
    const auto percent = [&](theory::FlopsVariant variant) {
        for (const UtilisationBy& each : all)
            if (each.variant == variant) return 100 * *each.utilisation;
        return 0.0;
    };
    EXPECT_NEAR(percent(theory::FlopsVariant::kSixN), 27.34, 0.01);
    EXPECT_NEAR(percent(theory::FlopsVariant::kPalm), 29.04, 0.01);
    EXPECT_NEAR(percent(theory::FlopsVariant::kLlmc), 28.19, 0.01);
    EXPECT_NEAR(percent(theory::FlopsVariant::kExact), 28.11, 0.01);
    EXPECT_FALSE(utilisationBy(*model, 70'028, std::nullopt)[0].utilisation);
}

TEST(Efficiency, RecomputingIsHardwaresBusinessOnly) {
    run::RunConfig config;
    const double without = hardwareUtilisation(config, 1000, 1e12);
    config.recomputeEvery = 1;
    const double all = hardwareUtilisation(config, 1000, 1e12);
    config.recomputeEvery = 2;
    const double half = hardwareUtilisation(config, 1000, 1e12);
    EXPECT_GT(half, without);
    EXPECT_NEAR(all - without, 2 * (half - without), 1e-12);
}

TEST(Goodput, AddsUpToTheWallTimeOfAllRanks) {
    auto drawn = drawTimeline(R"(
        rank 0 step    |...ssssssss.ssssss...|
        rank 0 compute |...ddffffee.ddffff...|
    )");
    drawn.summary.bounds = {{0}, {21'000}};
    const auto goodput = goodputOf(drawn.summary, drawn.ranks);
    ASSERT_TRUE(goodput);
    EXPECT_EQ(goodput->wall.ns, 21'000);
    EXPECT_EQ(goodput->productive.ns, 8'000);
    Duration sum = goodput->productive;
    std::map<std::string, std::int64_t> items;
    for (const Goodput::Item& item : goodput->badput) {
        sum += item.time;
        items[item.key] = item.time.ns;
    }
    EXPECT_EQ(sum, goodput->wall);
    EXPECT_EQ(items["data"], 4'000);
    EXPECT_EQ(items["evaluation"], 2'000);
    EXPECT_EQ(items["start"], 3'000);
    EXPECT_EQ(items["between_steps"], 1'000);
    EXPECT_EQ(items["end"], 3'000);
}

TEST(Goodput, OfATraceWithoutPhasesIsNotKnown) {
    const auto drawn = drawTimeline("rank 0 kernels |ff..b|");
    EXPECT_FALSE(goodputOf(drawn.summary, drawn.ranks));
}

TEST(PartSpeeds, ShareAStepsTokensAmongItsMicroSteps) {
    run::RunConfig config;
    RecordingSummary summary;
    StepFacts step;
    step.end = {1'000'000};
    step.tokens = 4096;
    summary.steps.push_back(step);
    RankEvents events;
    events.rank = {0};
    for (const std::int64_t start : {0, 100, 200, 300}) {
        SpanEvent phase;
        phase.start = {start};
        phase.duration = {50};
        phase.step = {0};
        phase.layer = {static_cast<std::int16_t>(start / 200)};
        phase.phase = Phase::kForward;
        events.phases.push_back(phase);
    }
    const auto parts = partSpeeds(summary, config.model, events);
    ASSERT_EQ(parts.size(), 3u);  // all blocks, then each of two
    EXPECT_EQ(parts[0].layer, kNoLayer);
    EXPECT_EQ(parts[0].time.ns, 200);
    EXPECT_EQ(parts[1].time.ns, 100);
    const double block =
        theory::forwardFlopsPerToken(config.model, theory::AttentionCount::kCausal).blocks() /
        static_cast<double>(config.model.layers);
    EXPECT_DOUBLE_EQ(parts[1].flops, 4096 * block);
    EXPECT_DOUBLE_EQ(parts[0].flops, 2 * 4096 * block);
}

PartSpeed speedOf(Phase phase, int layer, std::uint32_t rank, std::int64_t ns, double flops) {
    PartSpeed speed;
    speed.phase = phase;
    speed.layer = {static_cast<std::int16_t>(layer)};
    speed.rank = {rank};
    speed.time = {ns};
    speed.flops = flops;
    return speed;
}

TEST(PartSpeeds, OfAllRanksAreTheirWorkOverTheirTime) {
    const int whole = kNoLayer.value;
    const auto parts = overRanks({speedOf(Phase::kForward, whole, 0, 1'000'000'000, 300),
                                  speedOf(Phase::kForward, 0, 0, 1'000'000'000, 100),
                                  speedOf(Phase::kForward, whole, 1, 3'000'000'000, 300),
                                  speedOf(Phase::kBackward, whole, 1, 0, 300)});
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_EQ(parts[0].phase, Phase::kForward);
    EXPECT_EQ(parts[0].layer, kNoLayer);
    EXPECT_EQ(parts[0].ranks, 2);
    EXPECT_DOUBLE_EQ(*parts[0].flopsPerSecond(), 150);
    EXPECT_DOUBLE_EQ(*parts[0].slowest, 100);
    EXPECT_DOUBLE_EQ(*parts[0].fastest, 300);
    EXPECT_FALSE(parts[1].flopsPerSecond()) << "of no time there is no speed";
    EXPECT_FALSE(parts[1].slowest);
    EXPECT_EQ(parts[2].layer, LayerIndex{0}) << "blocks follow what is of all of them";
}

}  // namespace
}  // namespace shardscope::analysis
