#include "profiler/analysis/compare/comparability.h"

#include "engine/run/config/program_run.h"
#include "engine/run/config/run_config.h"
#include "profiler/analysis/compare/run_figures.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>

namespace shardscope::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

RecordingSummary runOf(const run::RunConfig& config) {
    RecordingSummary summary;
    summary.run.configJson = run::toJson(config);
    summary.run.model = "shakespeare";
    summary.run.parameters = 10'774'272;
    summary.run.worldSize = config.ranks;
    summary.complete = true;
    StepFacts step;
    step.end = {100};
    summary.steps.push_back(step);
    return summary;
}

TEST(Comparability, OfTwoEqualRunsIsWhole) {
    const auto found = comparabilityOf(runOf({}), runOf({}));
    EXPECT_THAT(found.refusals, IsEmpty());
    EXPECT_THAT(found.warnings, IsEmpty());
}

TEST(Comparability, NamesOptionsThatDifferAndNotWhereRunsWent) {
    run::RunConfig other;
    other.batch = 4;
    other.output = "elsewhere.sscope";
    const auto found = comparabilityOf(runOf({}), runOf(other));
    EXPECT_THAT(found.refusals, IsEmpty());
    EXPECT_THAT(found.warnings, ElementsAre(HasSubstr("Micro-batch 8 / 4 sequences")));
    EXPECT_THAT(found.warnings.at(0), Not(HasSubstr("output")));
}

/// Keys are of files and scripts.
TEST(Comparability, NamesOptionsAsTheFormDoes) {
    run::RunConfig other;
    other.strategy = run::Strategy::kDdpBucket;
    other.linkGigabytesPerSecond = 0.1;
    other.linkLatencyMicroseconds = 200;
    other.keepGathered = !other.keepGathered;
    other.beta1 = 0.8;
    const auto found = comparabilityOf(runOf({}), runOf(other));
    ASSERT_EQ(found.warnings.size(), 1U);
    const std::string& said = found.warnings.front();
    EXPECT_THAT(said, HasSubstr("Latency of the modelled link 0 / 200 µs"));
    EXPECT_THAT(said, HasSubstr("Modelled link 0 / 0.1 GB/s"));
    EXPECT_THAT(said, HasSubstr("off / on"));
    EXPECT_THAT(said, HasSubstr("beta1 0.9 / 0.8")) << "the form has no field of it";
    EXPECT_THAT(said, Not(HasSubstr("link_latency_us")));
    EXPECT_THAT(said, Not(HasSubstr("ddp-bucket"))) << "but by its name";
}

TEST(Comparability, RefusesOtherModelsAndRunsWithoutSteps) {
    RecordingSummary other = runOf({});
    other.run.parameters = 5;
    EXPECT_THAT(comparabilityOf(runOf({}), other).refusals,
                ElementsAre(HasSubstr("different models")));
    other = runOf({});
    other.steps.clear();
    EXPECT_THAT(comparabilityOf(runOf({}), other).refusals,
                ElementsAre(HasSubstr("recording of the second run has no steps")));
}

TEST(Comparability, RefusesWhereOnlyOneTrained) {
    run::RunConfig measuring;
    measuring.work = run::Work::kMeasuring;
    measuring.measureOperations.clear();
    measuring.measureNorms = "64x32";
    const auto found = comparabilityOf(runOf({}), runOf(measuring));
    EXPECT_THAT(found.refusals,
                ElementsAre("Not both trained: the second run measured norms of 64x32."));
    EXPECT_THAT(scalingComparabilityOf(runOf(measuring), runOf({}), "recording 2").refusals,
                ElementsAre(HasSubstr("recording 1 measured norms")));
    EXPECT_THAT(comparabilityOf(runOf(measuring), runOf(measuring)).refusals, IsEmpty());
}

TEST(Comparability, OfAnImportSaysThatItsSettingsAreNotKnown) {
    RecordingSummary imported = runOf({});
    imported.run.configJson = R"({"traceEvents":1,"distributedInfo":{"rank":0}})";
    imported.run.parameters = 0;
    const auto found = comparabilityOf(runOf({}), imported);
    EXPECT_THAT(found.warnings, ElementsAre(HasSubstr("second run was set up is unknown")));
}

RecordingSummary programOf(const run::ProgramRun& program, std::int64_t parameters) {
    RecordingSummary summary = runOf({});
    summary.run.model.clear();
    summary.run.configJson = run::toJson(program);
    summary.run.parameters = parameters;
    return summary;
}

/// What is changed between two runs of a user's program is their business: it is said.
TEST(Comparability, OfProgramsSaysWhichCommandsTheyRan) {
    const run::ProgramRun program{{"torchrun", "train.py"}, "/home", CaptureLevel::kFull};
    const auto same = comparabilityOf(programOf(program, 100), programOf(program, 100));
    EXPECT_THAT(same.refusals, IsEmpty());
    EXPECT_THAT(same.warnings, IsEmpty());
    run::ProgramRun other = program;
    other.command.emplace_back("--wide");
    other.capture = CaptureLevel::kLight;
    const auto found = comparabilityOf(programOf(program, 100), programOf(other, 200));
    EXPECT_THAT(found.refusals, IsEmpty());
    EXPECT_THAT(found.warnings,
                ElementsAre(HasSubstr("100 parameters, 200 parameters"),
                            HasSubstr("torchrun train.py / torchrun train.py --wide"),
                            HasSubstr("Capture levels differ: full / light")));
    EXPECT_THAT(comparabilityOf(programOf(program, 100), runOf({})).refusals,
                ElementsAre(HasSubstr("different models: 100 parameters, ")));
}

TEST(Comparability, SaysWhatElseDiffers) {
    RecordingSummary other = runOf({});
    other.run.worldSize = 4;
    other.run.product = "shardscope 9";
    other.run.librariesJson = "{\"mkl\":\"1\"}";
    other.complete = false;
    DeviceFacts device;
    device.name = "NVIDIA H200";
    other.devices.push_back(device);
    const auto found = comparabilityOf(runOf({}), other);
    EXPECT_THAT(found.warnings,
                ElementsAre(HasSubstr("Numbers of ranks differ"), HasSubstr("NVIDIA H200"),
                            HasSubstr("shardscope 9"), HasSubstr("libraries"),
                            HasSubstr("recording of the second run was not finalised")));
}

TEST(ScalingComparability, LetsRanksAndBatchesDiffer) {
    run::RunConfig other;
    other.ranks = 8;
    other.batch = 1;
    other.accumulate = 4;
    const auto found = scalingComparabilityOf(runOf({}), runOf(other), "recording 2");
    EXPECT_THAT(found.refusals, IsEmpty());
    EXPECT_THAT(found.warnings, IsEmpty());
}

TEST(ScalingComparability, RefusesOtherModelsPrecisionsAndDevices) {
    run::RunConfig halved;
    halved.precision = run::Precision::kBFloat16;
    RecordingSummary other = runOf(halved);
    other.run.parameters = 5;
    DeviceFacts device;
    device.name = "NVIDIA H200";
    other.devices.push_back(device);
    RecordingSummary first = runOf({});
    RankFacts rank;
    rank.device = "cpu (1 thread)";
    first.ranks.push_back(rank);
    EXPECT_THAT(scalingComparabilityOf(first, other, "recording 3").refusals,
                ElementsAre("Parameters of recording 1 and recording 3 differ: 10,774,272 / 5.",
                            "Precisions of recording 1 and recording 3 differ: fp32 / bf16.",
                            HasSubstr("cpu (1 thread) / NVIDIA H200")));
}

/// A rank with more threads computes faster, which is no scaling over ranks.
TEST(ScalingComparability, RefusesOtherNumbersOfThreads) {
    RecordingSummary first = runOf({}), other = runOf({});
    first.ranks.emplace_back().device = "cpu (2 threads)";
    other.ranks.emplace_back().device = "cpu (1 thread)";
    EXPECT_THAT(scalingComparabilityOf(first, other, "recording 2").refusals,
                ElementsAre(HasSubstr("cpu (2 threads) / cpu (1 thread). By default ranks divide "
                                      "the cores of a host: record each with the same "
                                      "--threads.")));
}

TEST(ScalingComparability, SaysWhatElseDiffersAndIsNotKnown) {
    run::RunConfig other;
    other.prefetch = 3;
    EXPECT_THAT(scalingComparabilityOf(runOf({}), runOf(other), "recording 2").warnings,
                ElementsAre(HasSubstr("Prefetch 1 / 3 blocks")));
    RecordingSummary imported = runOf({});
    imported.run.configJson = "{}x";
    EXPECT_THAT(scalingComparabilityOf(runOf({}), imported, "recording 2").warnings,
                ElementsAre(HasSubstr("is not known")));
}

RunFigure steps(const char* key, Better better, double median) {
    RunFigure figure{key, "", better, {}, {}};
    for (int i = 0; i < 30; ++i) figure.samples.push_back(median * (1 + 0.001 * (i % 5 - 2)));
    return figure;
}

GateState stateOf(const char* rule, double first, double second) {
    const auto parsed = parseGateRule(rule);
    EXPECT_TRUE(parsed);
    const auto results = checkGate({*parsed}, {steps("x", Better::kHigher, first)},
                                   {steps("x", Better::kHigher, second)});
    EXPECT_TRUE(results);
    return results->front().state;
}

TEST(GateRule, IsReadAsWritten) {
    const auto rule = parseGateRule("  throughput.tokens_per_s >= -2% ");
    ASSERT_TRUE(rule);
    EXPECT_EQ(rule->key, "throughput.tokens_per_s");
    EXPECT_TRUE(rule->atLeast);
    EXPECT_TRUE(rule->relative);
    EXPECT_DOUBLE_EQ(rule->bound, -0.02);
    const auto bytes = parseGateRule("memory.peak_bytes<=3e9");
    ASSERT_TRUE(bytes);
    EXPECT_FALSE(bytes->atLeast);
    EXPECT_FALSE(bytes->relative);
    EXPECT_DOUBLE_EQ(bytes->bound, 3e9);
    EXPECT_DOUBLE_EQ(parseGateRule("x <= +1 %")->bound, 0.01);
}

TEST(GateRule, RefusesWhatIsNone) {
    for (const char* bad : {"", "x", "x = 3", "x > 3", ">= 3", "x >= ", "x >= y", "x >= 1%%",
                            "x >= nan", "x >= 1 2"}) {
        const auto rule = parseGateRule(bad);
        ASSERT_FALSE(rule) << bad;
        EXPECT_EQ(rule.error().code, ErrorCode::kUsage);
        EXPECT_THAT(rule.error().message, HasSubstr("is not a rule"));
    }
}

TEST(Gate, BreaksBeyondItsBound) {
    EXPECT_EQ(stateOf("x >= -2%", 100, 97), GateState::kBroken);
    EXPECT_EQ(stateOf("x >= -2%", 100, 98.5), GateState::kKept);
    EXPECT_EQ(stateOf("x >= -2%", 100, 120), GateState::kKept);
    EXPECT_EQ(stateOf("x <= +1%", 100, 102), GateState::kBroken);
    EXPECT_EQ(stateOf("x <= 110", 100, 109), GateState::kKept);
    EXPECT_EQ(stateOf("x <= 110", 100, 111), GateState::kBroken);
}

TEST(Gate, DoesNotBreakByNoise) {
    const RunFigure wild{"x", "", Better::kLower, {1, 9, 2, 8, 3, 7, 1, 9, 2, 8}, {}};
    RunFigure wilder = wild;
    for (double& sample : wilder.samples) sample *= 1.02;
    const auto results = checkGate({*parseGateRule("x <= +1%")}, {wild}, {wilder});
    ASSERT_TRUE(results);
    EXPECT_EQ(results->front().state, GateState::kUnknown);
}

TEST(RunFigures, HaveWordsForPeople) {
    EXPECT_EQ(figureTitle("step.time_ns"), "step time");
    EXPECT_EQ(figureTitle("ledger.waiting_ns"), "ledger: waiting for the slowest");
    EXPECT_EQ(figureTitle(std::string("ledger.") + kReductionKey), "ledger: blocked in reductions");
    EXPECT_EQ(figureTitle("memory.communication_buffers_bytes"),
              "memory at the peak: communication buffers");
    EXPECT_EQ(figureTitle("something.else"), "something.else");
}

TEST(Gate, NamesTheFiguresThatThereAre) {
    const auto results =
        checkGate({*parseGateRule("y <= 1%")}, {steps("x", Better::kLower, 1)}, {});
    ASSERT_FALSE(results);
    EXPECT_THAT(results.error().message, HasSubstr("no figure 'y'"));
    EXPECT_THAT(results.error().message, HasSubstr("there is x"));
}

TEST(Gate, CannotTellOfWhatOneRunLacks) {
    const auto results =
        checkGate({*parseGateRule("x <= 1%")}, {steps("x", Better::kLower, 1)}, {});
    ASSERT_TRUE(results);
    EXPECT_EQ(results->front().state, GateState::kUnknown);
}

}  // namespace
}  // namespace shardscope::analysis
