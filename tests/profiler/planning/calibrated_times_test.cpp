#include "engine/run/theory/model_theory.h"
#include "profiler/planning/calibration.h"
#include "profiler/planning/model_plan.h"

#include <gmock/gmock.h>

namespace shardscope::planning {
namespace {

using testing::HasSubstr;

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
    EXPECT_TRUE(forecastOf(configOf(2, 1), *times));
}

TEST(CalibratedTimes, RanksShareTheCoresOfTheHost) {
    const auto times = timesOfCalibration(calibrated(), configOf(4, 1), kNow);
    const double four = forecastOf(configOf(4, 1), *times)->step.computing.seconds();
    const double sixteen = forecastOf(configOf(16, 1), *times)->step.computing.seconds();
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
