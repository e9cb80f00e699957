// Calibrations on disk: found by host and device, replaced whole, damaged ones told.
#include "profiler/planning/calibration_store.h"

#include "engine/run/config/machine_figure.h"
#include "engine/run/theory/model_theory.h"
#include "profiler/planning/calibration.h"
#include "profiler/planning/model_plan.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace shardscope::planning {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

Calibration of(const std::string& host, run::Device kind, const std::string& device,
               std::int64_t unixS = 1) {
    Calibration calibration;
    calibration.host = host;
    calibration.kind = kind;
    calibration.device = device;
    calibration.unixS = unixS;
    return calibration;
}

class CalibrationStore : public testing::Test {
protected:
    test::TemporaryFolder m_place;
    const std::string m_folder = m_place.file("state of mine/calibrations");
};

TEST_F(CalibrationStore, FindsWhatItKeptByHostAndDevice) {
    const auto path = keepCalibration(of("Node.a", run::Device::kCpu, "CPU"), m_folder);
    ASSERT_TRUE(path) << path.error().message;
    const std::string held = run::heldInstructions();
    if (held.empty()) {
        EXPECT_THAT(*path, EndsWith("/node-a-cpu.json"));
    }
    ASSERT_TRUE(keepCalibration(of("Node.a", run::Device::kCuda, "NVIDIA H200"), m_folder));
    const auto cpu = findCalibration("Node.a", run::Device::kCpu, "", m_folder);
    ASSERT_TRUE(cpu && *cpu);
    EXPECT_EQ((*cpu)->device, "CPU");
    const auto gpu = findCalibration("Node.a", run::Device::kCuda, "NVIDIA H200", m_folder);
    ASSERT_TRUE(gpu && *gpu);
    EXPECT_EQ((*gpu)->device, "NVIDIA H200");
    const auto other = findCalibration("node-b", run::Device::kCpu, "", m_folder);
    ASSERT_TRUE(other);
    EXPECT_FALSE(*other);
    const auto alike = findCalibration("node_a", run::Device::kCpu, "", m_folder);
    ASSERT_TRUE(alike);  // another host whose file has the same name
    EXPECT_FALSE(*alike);
}

TEST_F(CalibrationStore, KeepsApartWhatTheEnvironmentHoldsBack) {
    ASSERT_TRUE(keepCalibration(of("node", run::Device::kCpu, "CPU", 1), m_folder));
    const char* const before = std::getenv("ONEDNN_MAX_CPU_ISA");
    const std::string was = before == nullptr ? "" : before;
    ::setenv("ONEDNN_MAX_CPU_ISA", "less of it", 1);  // not what may be set already
    const auto none = findCalibration("node", run::Device::kCpu, "", m_folder);
    const auto kept = keepCalibration(of("node", run::Device::kCpu, "CPU", 2), m_folder);
    const auto held = findCalibration("node", run::Device::kCpu, "", m_folder);
    before == nullptr ? ::unsetenv("ONEDNN_MAX_CPU_ISA")
                      : ::setenv("ONEDNN_MAX_CPU_ISA", was.c_str(), 1);
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
    ASSERT_TRUE(kept) << kept.error().message;
    EXPECT_THAT(*kept, HasSubstr("-cpu-onednn-max-cpu-isa-less-of-it"));
    ASSERT_TRUE(held && *held);
    EXPECT_EQ((*held)->unixS, 2);
    EXPECT_EQ((*findCalibration("node", run::Device::kCpu, "", m_folder))->unixS, 1);
}

TEST_F(CalibrationStore, WithoutAGpusNameFindsTheNewest) {
    ASSERT_TRUE(keepCalibration(of("node", run::Device::kCpu, "CPU", 9), m_folder));
    ASSERT_TRUE(keepCalibration(of("node", run::Device::kCuda, "A", 3), m_folder));
    ASSERT_TRUE(keepCalibration(of("node", run::Device::kCuda, "B", 5), m_folder));
    ASSERT_TRUE(keepCalibration(of("node-2", run::Device::kCuda, "C", 7), m_folder));
    const auto found = findCalibration("node", run::Device::kCuda, "", m_folder);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->device, "B");
}

TEST_F(CalibrationStore, ReplacesTheFileAndLeavesNothingBeside) {
    ASSERT_TRUE(keepCalibration(of("node", run::Device::kCpu, "CPU", 1), m_folder));
    ASSERT_TRUE(keepCalibration(of("node", run::Device::kCpu, "CPU", 2), m_folder));
    EXPECT_EQ((*findCalibration("node", run::Device::kCpu, "", m_folder))->unixS, 2);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(m_folder), {}), 1);
}

TEST_F(CalibrationStore, SaysThatAFileIsDamagedAndDoesNotUseIt) {
    const auto path = keepCalibration(of("node", run::Device::kCpu, "CPU"), m_folder);
    ASSERT_TRUE(path);
    std::ofstream(*path) << "{\"schema\": ";
    const auto found = findCalibration("node", run::Device::kCpu, "", m_folder);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::kUnreadable);
    EXPECT_THAT(found.error().message, HasSubstr(*path));
    EXPECT_THAT(found.error().message, HasSubstr("run `shardscope calibrate` again"));
}

TEST_F(CalibrationStore, SaysWhyNothingCanBeKept) {
    EXPECT_THAT(keepCalibration(of("node", run::Device::kCpu, "CPU"), "").error().message,
                HasSubstr("set HOME or XDG_STATE_HOME"));
    std::ofstream(m_place.file("file")) << "in the way";
    const auto kept =
        keepCalibration(of("node", run::Device::kCpu, "CPU"), m_place.file("file/below"));
    ASSERT_FALSE(kept);
    EXPECT_THAT(kept.error().message, HasSubstr("cannot be kept as"));
    EXPECT_FALSE(*findCalibration("node", run::Device::kCpu, "", ""));
}

TEST_F(CalibrationStore, LiesWhereTheEnvironmentSays) {
    ::setenv("XDG_STATE_HOME", "/state", 1);
    EXPECT_EQ(calibrationFolder(), "/state/shardscope/calibrations");
    ::setenv("XDG_STATE_HOME", "relative", 1);
    ::setenv("HOME", "/home/somebody", 1);
    EXPECT_EQ(calibrationFolder(), "/home/somebody/.local/state/shardscope/calibrations");
    ::unsetenv("XDG_STATE_HOME");
    ::unsetenv("HOME");
    EXPECT_EQ(calibrationFolder(), "");
}

constexpr std::int64_t kNow = 1'800'000'000, kDay = 86'400;

MachineRate rate(run::MachineFigure figure, double best) {
    MachineRate made;
    made.what.figure = figure;
    made.best = made.median = best;
    return made;
}

Calibration calibrated() {
    Calibration calibration;
    calibration.host = "node-a";
    calibration.cores = 4;
    calibration.unixS = kNow - 3 * kDay;
    calibration.rates = {rate(run::MachineFigure::kMatmul, 400e9),
                         rate(run::MachineFigure::kTriad, 20e9)};
    CollectiveCost cost;
    cost.operation = CollectiveOp::kAllGather;
    cost.ranks = 4;
    cost.fit = {30'000, 0.75e-1, 5};  // 3 hops of 10 us; 10 GB/s by (n - 1) / n
    calibration.collectives = {cost};
    cost.operation = CollectiveOp::kReduceScatter;
    calibration.collectives.push_back(cost);
    return calibration;
}

run::RunConfig configOf(std::int32_t ranks, std::int32_t threads) {
    run::RunConfig config;
    config.data = run::kSyntheticData;
    config.threads = threads;
    return overRanks(config, ranks, run::Strategy::kZero3);
}

TEST(CalibratedTimes, AreProductsAtWhatIsReachedOfTheCoresOfARank) {
    const auto times = timesOfCalibration(calibrated(), configOf(2, 2), kNow);
    ASSERT_TRUE(times);
    const run::RunConfig config = configOf(2, 2);
    const auto flops = theory::forwardFlopsPerToken(config.model, theory::AttentionCount::kCausal);
    const auto tokens = static_cast<double>(config.batch * config.model.context);
    EXPECT_NEAR(times->computing.front().block.seconds(),
                tokens * flops.blocks() / static_cast<double>(config.model.layers) /
                    (kCpuUtilisation.expected * 200e9),
                1e-9);
    EXPECT_THAT(times->source, HasSubstr("node-a 3 days ago"));
}

TEST(CalibratedTimes, ALinkHasLatencyAndBandwidthOfAHop) {
    const auto times = timesOfCalibration(calibrated(), configOf(2, 1), kNow);
    ASSERT_TRUE(times && times->link);
    const theory::LinkModel& link = times->link->model(CollectiveOp::kAllGather);
    EXPECT_NEAR(link.latencySeconds, 10e-6, 1e-9);
    EXPECT_NEAR(link.bytesPerSecond, 10e9, 1e3);
    EXPECT_TRUE(forecastOf(configOf(4, 1), *times));
    EXPECT_FALSE(forecastOf(configOf(2, 1), *times)) << "calibrated among four ranks";
}

TEST(CalibratedTimes, RanksShareTheCoresOfTheHost) {
    const auto times = timesOfCalibration(calibrated(), configOf(4, 1), kNow);
    const auto known = forecastOf(configOf(4, 1), *times);
    ASSERT_TRUE(known);
    const double four = known->step.computing.seconds();
    // The link is known among four ranks; of sixteen only how they compute.
    EXPECT_FALSE(forecastOf(configOf(16, 1), *times));
    const double sixteen =
        forecast(configOf(16, 1), {timesFor(*times, 16), nullptr, 16}).step.computing.seconds();
    EXPECT_GT(sixteen, 3.5 * four);
}

TEST(CalibratedTimes, OtherCommunicatorsAndPrecisionsAreNotKnown) {
    run::RunConfig gloo = configOf(2, 1);
    gloo.transport = run::Transport::kGloo;
    const auto times = timesOfCalibration(calibrated(), gloo, kNow);
    ASSERT_TRUE(times);
    EXPECT_FALSE(times->link);
    EXPECT_FALSE(forecastOf(gloo, *times));
    run::RunConfig narrow = configOf(2, 1);
    narrow.precision = run::Precision::kBFloat16;
    EXPECT_FALSE(timesOfCalibration(calibrated(), narrow, kNow));
}

}  // namespace
}  // namespace shardscope::planning
