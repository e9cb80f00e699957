// What a measuring run does, step by step, and what it refuses.
#include "engine/run/config/measurement_plan.h"

#include "engine/run/config/machine_figure.h"
#include "engine/run/config/run_config.h"
#include "engine/run/config/run_rules.h"

#include <gmock/gmock.h>

#include <string>

namespace shardscope::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RunConfig config(const char* operations, const char* sizes) {
    RunConfig config;
    config.measureOperations = operations;
    config.measureSizes = sizes;
    return measuring(config);
}

std::string refusal(const RunConfig& config) {
    const auto valid = validate(config);
    EXPECT_FALSE(valid);
    return valid ? "" : valid.error().message;
}

TEST(MeasurementPlan, HasAStepForTheMachineAndForEachOperationAndSize) {
    RunConfig both = config("all-reduce, broadcast", "2kB,1kB");
    both.measureMachine = true;
    both = measuring(both);
    EXPECT_EQ(both.steps, 5);
    EXPECT_TRUE(validate(both)) << validate(both).error().message;
    const auto plan = measurementPlan(both);
    ASSERT_TRUE(plan);
    using Item = MeasurementPlan::Item;
    EXPECT_FALSE(plan->itemOf(0));
    EXPECT_EQ(plan->itemOf(1), (Item{CollectiveOp::kAllReduce, {1'000}}));
    EXPECT_EQ(plan->itemOf(2), (Item{CollectiveOp::kAllReduce, {2'000}}));
    EXPECT_EQ(plan->itemOf(4), (Item{CollectiveOp::kBroadcast, {2'000}}));
    EXPECT_FALSE(plan->itemOf(5));
    EXPECT_FALSE(plan->itemOf(-1));
}

TEST(MeasurementPlan, IsToldInWords) {
    EXPECT_EQ(measuredText({}), "");
    RunConfig both = config("all-reduce", "2kB,1kB");
    EXPECT_EQ(measuredText(both), "all-reduce of 2kB,1kB");
    both.measureMachine = true;
    EXPECT_EQ(measuredText(both), std::string(kMachineFigures) + "; all-reduce of 2kB,1kB");
    both.measureOperations.clear();
    both.measureMachine = false;
    both.measureNorms = "8x64";
    EXPECT_EQ(measuredText(both), "norms of 8x64");
}

TEST(MeasurementPlan, DoublesFromOneSizeToAnother) {
    const auto sizes = parseMeasuredSizes("512kB-3MB,100B,1.024MB");
    ASSERT_TRUE(sizes);
    EXPECT_THAT(*sizes, ElementsAre(Bytes{100}, Bytes{512'000}, Bytes{1'024'000}, Bytes{2'048'000},
                                    Bytes{3'000'000}))
        << "both ends";
    EXPECT_EQ(parseMeasuredSizes("512KiB-1GiB")->size(), 12u);
}

TEST(MeasurementPlan, APayloadIsWholeElementsOfEachRank) {
    EXPECT_EQ(payloadOf({1'000}, 3).count, 996);
    EXPECT_EQ(payloadOf({24}, 6).count, 24);
    EXPECT_EQ(payloadOf({1}, 6).count, 24);  // at least one
}

TEST(MeasurementPlan, RefusesSizesAndOperationsInWords) {
    EXPECT_THAT(refusal(config("all-reduce", "")), HasSubstr("no size is named"));
    EXPECT_THAT(refusal(config("all-reduce", "many")), HasSubstr("measure_sizes: 'many'"));
    EXPECT_THAT(refusal(config("all-reduce", "0")), HasSubstr("'0' is no payload"));
    EXPECT_THAT(refusal(config("all-reduce", "1.1TB")), HasSubstr("use 1 TB or less"));
    EXPECT_THAT(refusal(config("all-reduce", "2MB-1MB")), HasSubstr("smaller size first"));
    EXPECT_THAT(refusal(config("all-reduce", "1kB-")), HasSubstr("is not a size"));
    EXPECT_THAT(refusal(config("all-reduse", "1MB")), HasSubstr("did you mean 'all-reduce'"));
    EXPECT_THAT(refusal(config("barrier", "1MB")), HasSubstr("can be timed between all ranks"));
    EXPECT_THAT(refusal(config("send", "1MB")), HasSubstr("can be timed between all ranks"));
    EXPECT_THAT(refusal(config("", "1MB")), HasSubstr("there is nothing to measure"));
}

TEST(MeasurementPlan, NeedsTwoRanksForCollectivesAndOneForTheMachine) {
    RunConfig one = config("all-reduce", "1MB");
    one.ranks = 1;
    EXPECT_THAT(refusal(one), HasSubstr("need two ranks or more; use --ranks 2"));
    one.measureOperations = "";
    one.measureMachine = true;
    EXPECT_TRUE(validate(measuring(one)));
}

TEST(MeasurementPlan, NormsAreMeasuredByThemselvesInTheFirstStep) {
    RunConfig one = config("", "1MB");
    one.ranks = 1;
    one.measureNorms = "50000x1024, 8x16,50000x1024";
    EXPECT_TRUE(validate(measuring(one))) << validate(measuring(one)).error().message;
    const auto plan = measurementPlan(one);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->norms, (std::vector<NormShape>{{50'000, 1024}, {8, 16}}));
    EXPECT_TRUE(plan->startsWithMachine());
    EXPECT_FALSE(plan->machine);
    EXPECT_EQ(plan->steps(), 1);
    for (const char* wrong : {"50000", "x8", "8x", "8x16x2", "0x8", "8x-1", "8 x 16", "many"}) {
        one.measureNorms = wrong;
        EXPECT_THAT(refusal(one), HasSubstr("is no shape of a norm")) << wrong;
    }
    one.measureNorms = "10000000x1000000";
    EXPECT_THAT(refusal(one), HasSubstr("more than any rank holds"));
}

TEST(MeasurementPlan, StepsOptionsOfTrainingAndOfMeasuringDoNotMix) {
    RunConfig steps = config("all-reduce", "1MB");
    steps.steps = 40;
    EXPECT_THAT(refusal(steps), HasSubstr("--steps is 40, and what is to be measured takes 1"));
    RunConfig training;
    training.measureRounds = 9;
    EXPECT_THAT(refusal(training), HasSubstr("measure_rounds is about work measuring"));
    RunConfig checkpoint = config("all-reduce", "1MB");
    checkpoint.checkpoint = "folder";
    EXPECT_THAT(refusal(checkpoint), HasSubstr("--checkpoint is about training"));
}

/// A layer of the default model would be too small for so many ranks.
TEST(MeasurementPlan, HasNoModelThatRanksWouldShare) {
    RunConfig many = config("all-reduce", "1MB");
    many.model = *findModelPreset("tiny");
    many.ranks = 1'000;
    EXPECT_TRUE(validate(many)) << validate(many).error().message;
}

TEST(MachineFigures, ComeBackFromTheNamesOfTheirMetrics) {
    MeasuredFigure product{2, MachineFigure::kMatmul, Precision::kBFloat16, 64, 128, 32, 8};
    EXPECT_EQ(metricName(product), "measured/2/matmul/bf16/64x128x32/8");
    EXPECT_EQ(figureOfMetric(metricName(product)), product);
    for (const MachineFigure each : kAll<MachineFigure>) {
        if (each == MachineFigure::kMatmul) continue;
        MeasuredFigure figure;
        figure.figure = each;
        figure.threads = 3;
        if (entryOf(each)->shape == FigureShape::kTensor) {
            figure.precision = Precision::kFloat16;
            figure.rows = 50'000;
            figure.columns = 1024;
        }
        EXPECT_EQ(figureOfMetric(metricName(figure)), figure) << metricName(figure);
    }
}

TEST(MachineFigures, AreNoOtherMetrics) {
    for (const char* name :
         {"loss", "measured/", "measured/0/matmul/8", "measured/0/triad/fp32/1x2x3/8",
          "measured/0/matmul/fp32/1x2/8", "measured/0/rms-norm/8",
          "measured/0/rms-norm/fp32/1x2x3/8", "measured/x/triad/8", "measured/0/triad/-8",
          "measured/0/matmul/fp99/1x2x3/8", "measured/0/unknown/8", ""})
        EXPECT_FALSE(figureOfMetric(name)) << name;
}

TEST(CommunicatorKinds, FollowFromTheRun) {
    RunConfig c;
    EXPECT_EQ(communicatorOf(c), CommunicatorKind::kSharedMemory);
    c.linkGigabytesPerSecond = 1;
    EXPECT_EQ(communicatorOf(c), CommunicatorKind::kModelled);
    c.linkGigabytesPerSecond = 0;
    c.transport = Transport::kGloo;
    EXPECT_EQ(communicatorOf(c), CommunicatorKind::kGloo);
    c.transport = Transport::kAuto;
    c.hosts = "a:2,b:2";
    c.ranks = 4;
    EXPECT_EQ(communicatorOf(c), CommunicatorKind::kHierarchical);
    c.hosts = "a:2,b:1";
    c.ranks = 3;
    EXPECT_EQ(communicatorOf(c), CommunicatorKind::kGloo);
    c.hosts = "a:1,b:1";
    c.ranks = 2;
    EXPECT_EQ(communicatorOf(c), CommunicatorKind::kGloo);
    c.device = Device::kCuda;
    EXPECT_EQ(communicatorOf(c), CommunicatorKind::kNccl);
}

}  // namespace
}  // namespace shardscope::run
