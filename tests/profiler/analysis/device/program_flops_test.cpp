// Rates and utilisation of drawn programs.
#include "profiler/analysis/device/program_flops.h"

#include "engine/run/config/program_run.h"
#include "storage/model/detail.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace shardscope::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Two ranks, `steps` steps of a second each, 1e9 FLOP/s of peak each.
RecordingSummary program(int steps, CaptureLevel level = CaptureLevel::kFull) {
    RecordingSummary summary;
    summary.run.configJson = run::toJson(run::ProgramRun{{"python", "x.py"}, "/", level});
    summary.run.worldSize = 2;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        RankFacts facts;
        facts.rank = {rank};
        facts.peakFlops = 1e9;
        facts.peakSource = "a test";
        summary.ranks.push_back(facts);
    }
    constexpr std::int64_t kSecond = 1'000'000'000;
    for (int step = 0; step < steps; ++step)
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            StepFacts facts;
            facts.rank = {rank};
            facts.step = {step};
            facts.start = {step * kSecond};
            facts.end = {(step + 1) * kSecond};
            summary.steps.push_back(facts);
        }
    return summary;
}

StepFlops flops(std::uint32_t rank, int step, double forward, double backward, double again = 0) {
    StepFlops each;
    each.rank = {rank};
    each.step = {step};
    each.forward = forward;
    each.backward = backward;
    each.again = again;
    each.operators = 1;
    each.byType[static_cast<std::size_t>(ProductType::kFloat)] = forward + backward;
    return each;
}

CountedSteps counted(double again = 0) {
    return {{flops(0, 2, 1e8, 2e8, again), flops(0, 3, 1e8, 2e8, again), flops(1, 2, 1e8, 2e8),
             flops(1, 3, 1e8, 2e8)},
            {}};
}

Mfu utilisation(const RecordingSummary& summary, const CountedSteps& steps) {
    const Throughput throughput = measureThroughput(summary, {});
    return programUtilisation(summary,
                              programRates(summary, steadySteps(summary, {}), throughput, steps));
}

std::vector<StepIndex> chosen(const RecordingSummary& summary) {
    return stepsToCount(summary, steadySteps(summary, {}));
}

TEST(ProgramFlops, AreOfTheStepsOfAllRanks) {
    const Mfu mfu = utilisation(program(6), counted());
    EXPECT_EQ(mfu.variant, "operators");
    EXPECT_DOUBLE_EQ(mfu.flopsPerStep.value(), 6e8);
    EXPECT_DOUBLE_EQ(mfu.flopsPerSecond.value(), 6e8);
    EXPECT_DOUBLE_EQ(mfu.value.value(), 0.3);
    EXPECT_DOUBLE_EQ(mfu.hardware.value(), 0.3);
}

TEST(ProgramFlops, AreKnownOfEachStepThatWasCounted) {
    RecordingSummary summary = program(6);
    for (StepFacts& step : summary.steps.own())  // the fourth takes twice as long
        if (step.step.value > 2) step.end = step.end + Duration{1'000'000'000};
    const Mfu mfu = utilisation(summary, counted(1e8));
    ASSERT_EQ(mfu.steps.size(), 2u);
    EXPECT_EQ(mfu.steps[0].step, StepIndex{2});
    EXPECT_DOUBLE_EQ(mfu.steps[0].value, 0.25);
    EXPECT_DOUBLE_EQ(mfu.steps[0].hardware, 0.3);
    EXPECT_DOUBLE_EQ(mfu.steps[1].value, 0.125);
    summary.run.parameters = 10;
    for (StepFacts& step : summary.steps.own()) step.tokens = 7;
    EXPECT_THAT(utilisation(summary, {}).steps, IsEmpty()) << "6 N is of no step";
}

TEST(ProgramFlops, OfOtherStepsSayWhyNot) {
    RecordingSummary summary = program(8);
    DetailFacts light;
    light.rank = {1};
    light.first = light.last = {4};
    light.level = CaptureLevel::kLight;
    summary.detail.push_back(light);
    CountedSteps steps = counted();
    steps.flops[3].unknown = 2;
    steps.flops.push_back(flops(0, 5, 1e8, 2e8));
    const auto uses = usesOfSteps(summary, steadySteps(summary, {}), steps);
    ASSERT_EQ(uses.size(), 6u);
    EXPECT_EQ(uses[0].needed, 6e8);
    EXPECT_EQ(uses[0].why, "");
    EXPECT_THAT(uses[1].why, HasSubstr("2 operators that multiply do not say their shapes"));
    EXPECT_THAT(uses[2].why, HasSubstr("recorded at light, and --capture full"));
    EXPECT_EQ(uses[3].why, "operators of 1 of 2 ranks are here");
    EXPECT_EQ(uses[4].why, "it was not looked at");
    EXPECT_FALSE(uses[4].needed);
    EXPECT_EQ(stepsToCount(summary, steadySteps(summary, {})).size(), 5u);
    const RecordingSummary longer = program(100);
    EXPECT_EQ(stepsToCount(longer, steadySteps(longer, {}), CountWhich::kAll).size(), 98u);
}

TEST(ProgramFlops, WhatIsComputedAgainIsTheHardwaresAlone) {
    const Mfu mfu = utilisation(program(6), counted(1e8));
    EXPECT_DOUBLE_EQ(mfu.value.value(), 0.25);
    EXPECT_DOUBLE_EQ(mfu.hardware.value(), 0.3);
}

TEST(ProgramFlops, OfARankThatIsMissingAreNone) {
    CountedSteps steps = counted();
    steps.flops.pop_back();
    steps.flops.pop_back();
    const Mfu mfu = utilisation(program(6), steps);
    EXPECT_FALSE(mfu.value);
    EXPECT_FALSE(mfu.flopsPerSecond);
}

TEST(ProgramFlops, SixNTakesParametersAndTokens) {
    RecordingSummary summary = program(6, CaptureLevel::kSteps);
    EXPECT_THAT(utilisation(summary, {}).reason, HasSubstr("number of parameters and of tokens"));
    summary.run.parameters = 1000;
    EXPECT_THAT(utilisation(summary, {}).reason, HasSubstr("the number of tokens"));
    EXPECT_THAT(utilisation(summary, {}).reason, HasSubstr("--capture full"));
    for (StepFacts& step : summary.steps.own()) step.tokens = 50;
    const Mfu mfu = utilisation(summary, {});
    EXPECT_EQ(mfu.variant, "6N");
    EXPECT_DOUBLE_EQ(mfu.flopsPerSecond.value(), 6 * 1000 * 100.0);
    EXPECT_DOUBLE_EQ(mfu.value.value(), 6e5 / 2e9);
    EXPECT_FALSE(mfu.hardware);
}

TEST(ProgramFlops, WhyOperatorsDoNotSay) {
    CountedSteps steps = counted();
    steps.flops[1].compiled = steps.flops[0].compiled = true;
    EXPECT_THAT(utilisation(program(6), steps).reason, HasSubstr("torch.compile"));
    steps = counted();
    for (StepFlops& each : steps.flops) each.unknown = 3;
    EXPECT_THAT(utilisation(program(6), steps).reason, HasSubstr("12 operators"));
    for (StepFlops& each : steps.flops) each.unknown = each.operators = 0;
    EXPECT_THAT(utilisation(program(6), steps).reason, HasSubstr("no matrix product"));
    EXPECT_THAT(utilisation(program(0), {}).reason, HasSubstr("no steps are recorded"));
}

TEST(ProgramFlops, OfAProgramWithoutRanksAskForNoOption) {
    RecordingSummary alone = program(0);
    alone.processes.emplace_back().role = ProcessRole::kProgram;
    EXPECT_EQ(utilisation(alone, {}).reason, "no process of it was seen to load PyTorch");
}

TEST(ProgramFlops, ShareNoPeakOfAnotherType) {
    RecordingSummary summary = program(6);
    summary.facts.push_back({"dtype", 0, 0, "bf16"});
    const Mfu mfu = utilisation(summary, counted());
    EXPECT_FALSE(mfu.value);
    EXPECT_THAT(mfu.reason, HasSubstr("most products are fp32, and the peak is of bf16"));
    EXPECT_TRUE(mfu.flopsPerSecond);
    summary.facts.back().value = "fp32";
    EXPECT_TRUE(utilisation(summary, counted()).value);
}

TEST(ProgramFlops, AreKnownWithoutAPeak) {
    RecordingSummary summary = program(6);
    summary.ranks[1].peakFlops.reset();
    summary.ranks[1].peakSource = "run it";
    const Mfu mfu = utilisation(summary, counted());
    EXPECT_FALSE(mfu.value);
    EXPECT_THAT(mfu.reason, HasSubstr("rank 1 has no known peak: run it"));
    EXPECT_DOUBLE_EQ(mfu.flopsPerSecond.value(), 6e8);
}

TEST(StepsToCount, AreSpreadOverThoseThatRecordedOperators) {
    EXPECT_THAT(chosen(program(6)),
                ElementsAre(StepIndex{2}, StepIndex{3}, StepIndex{4}, StepIndex{5}));
    const auto many = chosen(program(202));
    ASSERT_EQ(many.size(), 20u);
    EXPECT_EQ(many.front(), StepIndex{2});
    EXPECT_EQ(many.back(), StepIndex{192});
    EXPECT_THAT(chosen(program(6, CaptureLevel::kLight)), IsEmpty());
    RecordingSummary thinned = program(6);
    thinned.detail.push_back(
        {{1}, {0}, {4}, {{0}, {1}}, CaptureLevel::kSteps, DetailReason::kMaxSize, {}, {}});
    EXPECT_THAT(chosen(thinned), ElementsAre(StepIndex{5}));
    RecordingSummary own = program(6);
    own.run.model = "shakespeare";
    EXPECT_THAT(chosen(own), IsEmpty());
}

}  // namespace
}  // namespace shardscope::analysis
