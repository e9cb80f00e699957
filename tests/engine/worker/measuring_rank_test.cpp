// Runs that measure, with the real shardscope-rank: what their recordings hold, over shared memory
// and over Gloo, and `shardscope calibrate` on them.
#include "app/cli/record/measured_recording.h"
#include "engine/run/config/measurement_plan.h"
#include "profiler/planning/calibration_store.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace shardscope::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class MeasuringRank : public CliTest {
protected:
    MeasuringRank() {
        environment["SHARDSCOPE_RANK_PROGRAM"] = SHARDSCOPE_RANK;
        environment["XDG_STATE_HOME"] = path("state");
        environment["XDG_CACHE_HOME"] = path("cache");
    }

    /// Two ranks of one thread.
    run::RunConfig config(const char* operations, const char* sizes) const {
        run::RunConfig config;
        config.threads = 1;
        config.measureOperations = operations;
        config.measureSizes = sizes;
        config.measureRounds = 3;
        config.output = output();
        return run::measuring(config);
    }
    std::unique_ptr<Program> record(const run::RunConfig& config) {
        std::ofstream(path("run.toml")) << run::toToml(config);
        return start({"record", path("run.toml"), "--json", "--quiet"});
    }
};

class MeasuringOver : public MeasuringRank, public testing::WithParamInterface<run::Transport> {};

TEST_P(MeasuringOver, RecordsAStepForEachOperationAndSizeAndItsTimedRounds) {
    run::RunConfig asked =
        config("all-gather,reduce-scatter,all-reduce,broadcast,all-to-all", "1kB,1MB");
    asked.transport = GetParam();
    const auto program = record(asked);
    ASSERT_EQ(program->wait(), 0) << program->err();
    const json end = json::parse(program->out());
    EXPECT_EQ(end.at("status"), "finished");
    EXPECT_EQ(end.at("steps_done"), 10);
    const auto read = readMeasuredRecording(output());
    ASSERT_TRUE(read) << read.error().message;
    const auto plan = run::measurementPlan(read->config);
    ASSERT_TRUE(plan);
    std::map<std::int32_t, int> rounds;
    for (const analysis::Transfer& each : read->transfers) {
        const auto item = plan->itemOf(each.step.value);
        ASSERT_TRUE(item);
        EXPECT_EQ(each.operation, item->operation);
        EXPECT_EQ(each.size, run::payloadOf(item->size, 2));
        EXPECT_EQ(each.ranks, 2);
        EXPECT_GT(each.completion().value_or(Duration{}).ns, 0);
        ++rounds[each.step.value];
    }
    EXPECT_EQ(rounds.size(), 10u);
    for (const auto& [step, count] : rounds) EXPECT_EQ(count, 3) << step;
    EXPECT_EQ(read->summary.steps.size(), 20u);
    const auto calibration = planning::calibrationOf(*read);
    EXPECT_EQ(calibration.collectives.size(), 5u);
    EXPECT_TRUE(calibration.rates.empty());
}
INSTANTIATE_TEST_SUITE_P(Transports, MeasuringOver,
                         testing::Values(run::Transport::kSharedMemory, run::Transport::kGloo),
                         [](const auto& each) {
                             return each.param == run::Transport::kGloo ? "Gloo" : "SharedMemory";
                         });

TEST_F(MeasuringRank, WhatItRecordsIsReadByOtherVerbs) {
    const auto program = record(config("all-reduce", "1kB-64kB"));
    ASSERT_EQ(program->wait(), 0) << program->err();
    const auto verified = start({"info", output(), "--verify"});
    EXPECT_EQ(verified->wait(), 0) << verified->err() << verified->out();
    const auto report = start({"report", output()});
    EXPECT_EQ(report->wait(), 0) << report->err();
    EXPECT_THAT(report->out(), HasSubstr("nothing was trained"));
    const auto collectives = start({"analyze", output(), "collectives"});
    EXPECT_EQ(collectives->wait(), 0) << collectives->err();
    EXPECT_THAT(collectives->out(), HasSubstr("all-reduce"));
}

/// One rank alone has nobody to talk to.
TEST_F(MeasuringRank, MeasuresTheMachineByItself) {
    run::RunConfig alone = config("", "1MB");
    alone.ranks = 1;
    alone.strategy = run::Strategy::kSingle;
    alone.measureMachine = true;
    alone.measureSeconds = 0.02;
    const auto program = record(run::measuring(alone));
    ASSERT_EQ(program->wait(), 0) << program->err();
    const auto read = readMeasuredRecording(output());
    ASSERT_TRUE(read) << read.error().message;
    const auto calibration = planning::calibrationOf(*read);
    for (const auto precision :
         {run::Precision::kFloat32, run::Precision::kBFloat16, run::Precision::kFloat16})
        EXPECT_GT(planning::matmulFlops(calibration, precision).value_or(0), 0)
            << toWord(precision);
    for (const auto figure :
         {run::MachineFigure::kTriad, run::MachineFigure::kCopy, run::MachineFigure::kLaunch})
        EXPECT_GT(planning::rateOf(calibration, figure).value_or(0), 0) << toWord(figure);
    EXPECT_TRUE(std::filesystem::exists(path("cache/shardscope/peaks.json")));
}

TEST_F(MeasuringRank, SaysWhatHasNoMemoryAndMeasuresTheRest) {
    const auto program = record(config("all-reduce", "1kB,1TB"));
    ASSERT_EQ(program->wait(), 0) << program->err();
    const auto read = readMeasuredRecording(output());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->transfers.size(), 3u);
    const auto limits = limitsOf(read->summary);
    EXPECT_THAT(limits, testing::Contains(
                            AllOf(HasSubstr("out of memory"), HasSubstr("all-reduce of 1 TB"))));
}

TEST_F(MeasuringRank, StopsOnCtrlCAndKeepsWhatItHas) {
    run::RunConfig endless = config("all-reduce", "1kB-64kB");
    endless.measureRounds = 10'000;
    endless.measureOperations = run::measurableOperations();
    const auto program = record(run::measuring(endless));
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(output()); }));
    ASSERT_TRUE(eventually([&] {
        const auto reader = storage::openRecording(output());
        const auto summary = reader ? (*reader)->summary() : Result<RecordingSummary>();
        return reader && summary && !summary->steps.empty();
    }));
    program->signal(SIGINT);
    EXPECT_EQ(program->wait(), 130) << program->err();
    const auto read = readMeasuredRecording(output());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->summary.run.status, RunStatus::kStopped);
    EXPECT_GT(read->transfers.size(), 0u);
}

TEST_F(MeasuringRank, ATrainingRunIsNoMeasurement) {
    ASSERT_EQ(startRecord({"--steps", "2", "--threads", "1", "--no-calibrate"})->wait(), 0);
    const auto read = readMeasuredRecording(output());
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message, HasSubstr("measured nothing"));
}

TEST_F(MeasuringRank, CalibrateMeasuresKeepsAndShows) {
    const auto program = start({"calibrate", "--quick", "--threads", "1", "--json"});
    ASSERT_EQ(program->wait(), 0) << program->err();
    const auto calibration = planning::parseCalibration(program->out());
    ASSERT_TRUE(calibration) << calibration.error().message;
    EXPECT_TRUE(calibration->quick);
    std::set<run::CommunicatorKind> communicators;
    for (const auto& cost : calibration->collectives) {
        communicators.insert(cost.communicator);
        EXPECT_EQ(cost.ranks, 2);
        // On a busy machine the largest size may be the fastest: then the fit is a latency alone.
        EXPECT_GE(cost.fit.nsPerByte, 0);
        EXPECT_GT(cost.fit.latencyNs + cost.fit.nsPerByte, 0);
        EXPECT_GT(cost.bestBusBandwidth.value_or(0), 0);
    }
    EXPECT_EQ(communicators,
              (std::set{run::CommunicatorKind::kSharedMemory, run::CommunicatorKind::kGloo}));
    EXPECT_GT(planning::matmulFlops(*calibration, run::Precision::kFloat32).value_or(0), 0);
    // Another number of ranks is added.
    const auto more = start(
        {"calibrate", "--quick", "--ranks", "3", "--threads", "1", "--transport", "shared-memory"});
    ASSERT_EQ(more->wait(), 0) << more->err();
    EXPECT_THAT(more->out(), AllOf(HasSubstr("2 ranks"), HasSubstr("3 ranks"), HasSubstr("Gloo")));
    const auto shown = start({"calibrate", "--show", "--json"});
    ASSERT_EQ(shown->wait(), 0) << shown->err();
    EXPECT_EQ(planning::parseCalibration(shown->out())->collectives.size(),
              calibration->collectives.size() + 5);
}

}  // namespace
}  // namespace shardscope::cli
