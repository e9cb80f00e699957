// What is said of a program's recording that lacks something.
#include "profiler/analysis/report/lacks.h"

#include "engine/run/config/program_run.h"
#include "profiler/analysis/report/report.h"
#include "storage/model/step_facts.h"
#include "tests/profiler/analysis/made_run.h"

#include <gmock/gmock.h>

namespace shardscope::analysis {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

RunFacts programAt(CaptureLevel level) {
    RunFacts run;
    run.configJson = run::toJson(run::ProgramRun{{"train.py"}, "/", level});
    return run;
}

ProcessFacts processOf(ProcessRole role) {
    ProcessFacts process;
    process.role = role;
    return process;
}

TEST(Lacks, NameTheLevelThatRecordsIt) {
    const std::vector<ProcessFacts> rank{processOf(ProcessRole::kRank)};
    const RunFacts steps = programAt(CaptureLevel::kSteps), full = programAt(CaptureLevel::kFull);
    EXPECT_EQ(howToGet(steps, rank, Lack::kPhases), "record it with --capture light");
    EXPECT_EQ(howToGet(steps, rank, Lack::kMemory), "record it with --capture full");
    EXPECT_THAT(howToGet(full, rank, Lack::kMemory), Not(HasSubstr("--capture")));
    EXPECT_THAT(howToGet(full, rank, Lack::kLoss), HasSubstr("shardscope.metric(\"loss\""));
    EXPECT_THAT(howToGet(full, rank, Lack::kModel), HasSubstr("shardscope.model(model)"));
    EXPECT_THAT(howToGet(full, rank, Lack::kSteps), HasSubstr("shardscope.step()"));
    EXPECT_THAT(howToGet(full, rank, Lack::kTokens), HasSubstr("tokens_per_step=...)"));
    EXPECT_THAT(howToGet(full, rank, Lack::kGradientNorm), HasSubstr("\"gradient_norm\""));
    EXPECT_THAT(howToGet(full, rank, Lack::kKernels), HasSubstr("not recorded yet"));
}

TEST(Lacks, OfAProgramWithoutRanksAreNoMatterOfLevels) {
    const std::vector<ProcessFacts> alone{processOf(ProcessRole::kProgram)};
    EXPECT_TRUE(hasNoRank(programAt(CaptureLevel::kSteps), alone));
    EXPECT_THAT(howToGet(programAt(CaptureLevel::kSteps), alone, Lack::kMemory),
                HasSubstr("to load PyTorch"));
    EXPECT_FALSE(hasNoRank({}, alone)) << "a trace";
    std::vector<ProcessFacts> refused = alone;
    refused.back().pid = 42;
    refused.back().notRecorded = "Python was started with -I";
    EXPECT_EQ(howToGet(programAt(CaptureLevel::kSteps), refused, Lack::kMemory),
              "process 42 is not recorded: Python was started with -I");
}

TEST(Lacks, OfAPyTorchWithoutAShimAreItsLack) {
    const std::vector<ProcessFacts> rank{processOf(ProcessRole::kRank)};
    RunFacts run = programAt(CaptureLevel::kFull);
    run.librariesJson = R"({"shim":"none for PyTorch 9.9: only ranges","torch":"9.9.0"})";
    for (const Lack each : {Lack::kPhases, Lack::kMemory, Lack::kOperators, Lack::kCollectives})
        EXPECT_THAT(howToGet(run, rank, each), HasSubstr("none for PyTorch 9.9"));
    EXPECT_THAT(howToGet(run, rank, Lack::kLoss), Not(HasSubstr("9.9")));
    run.librariesJson = R"({"shim":"libshardscope_torch_2_11.so"})";
    EXPECT_THAT(howToGet(run, rank, Lack::kMemory), Not(HasSubstr("shim")));
}

TEST(Lacks, AreSaidOfProgramsOnly) {
    EXPECT_THAT(howToGet(RunFacts{}, {}, Lack::kLoss), IsEmpty());
    EXPECT_EQ(withHow("none", Report{}, Lack::kLoss), "none");
}

TEST(Lacks, WhatRanksDidTogetherIsSeen) {
    using enum CollectiveOp;
    EXPECT_EQ(seenText({}), "");
    EXPECT_EQ(seenText({kAllReduce}), "all-reduce, as data parallelism (DDP) does");
    EXPECT_THAT(seenText({kAllGather, kReduceScatter}), HasSubstr("as FSDP and ZeRO do"));
    EXPECT_EQ(seenText({kAllGather}), "all-gather");
}

/// Collectives are recorded at every level, phases are not.
TEST(Lacks, WithoutPhasesWhatIsHiddenIsUnknown) {
    test::MadeRun run([](int) { return test::Lateness{}; });
    for (RankEvents& events : run.ranks) events.phases.clear();
    run.summary.run.configJson = programAt(CaptureLevel::kSteps).configJson;
    const Report report = analyse(run.summary, run.ranks);
    EXPECT_GT(report.overlap.communication.ns, 0);
    EXPECT_FALSE(report.overlap.computeKnown);
    EXPECT_FALSE(report.overlap.ratio());
    EXPECT_FALSE(report.overlapByStep.front().computeKnown);
    EXPECT_EQ(report.seen.size(), 1u);
    EXPECT_THAT(report.judged.unknown, Contains(HasSubstr("--capture light")));
    run.summary.run = {};
    EXPECT_TRUE(analyse(run.summary, run.ranks).overlap.ratio()) << "of a trace";
}

}  // namespace
}  // namespace shardscope::analysis
