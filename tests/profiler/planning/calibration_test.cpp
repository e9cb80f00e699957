// What becomes of a measuring run's recording: rates, alpha and beta with their intervals, JSON.
#include "profiler/planning/calibration.h"

#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

namespace shardscope::planning {
namespace {

using analysis::SizedTime;
using analysis::Transfer;
using run::MachineFigure;
using testing::HasSubstr;

/// Times of a link of known alpha and beta: nothing is faster, and some are much slower.
std::vector<SizedTime> drawn(double alphaNs, double nsPerByte, unsigned seed) {
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> late(20);  // 5 % on the average
    std::vector<SizedTime> times;
    for (std::int64_t size = 1'000; size <= 64'000'000; size *= 4)
        for (int round = 0; round < 12; ++round) {
            const double ns =
                (alphaNs + nsPerByte * static_cast<double>(size)) * (1 + late(random));
            times.push_back({{size}, {std::llround(ns)}});
        }
    return times;
}

/// Whatever is drawn, the envelope lies a little above the truth and the interval from there on.
TEST(CalibrationFit, FindsTheLinkThatTimesWereDrawnFrom) {
    int alphas = 0, betas = 0;
    constexpr int kDraws = 40;
    for (unsigned seed = 0; seed < kDraws; ++seed) {
        const auto fitted = fitWithInterval(drawn(25'000, 0.4, seed));
        ASSERT_TRUE(fitted);
        EXPECT_NEAR(fitted->fit.latencyNs, 25'000, 2'500);
        EXPECT_NEAR(fitted->fit.nsPerByte, 0.4, 0.02);
        EXPECT_LE(fitted->alphaNs.low, fitted->fit.latencyNs);
        EXPECT_GE(fitted->alphaNs.high, fitted->fit.latencyNs);
        alphas += fitted->alphaNs.low <= 1.02 * 25'000 && fitted->alphaNs.high >= 25'000;
        betas += fitted->betaNsPerByte.low <= 1.02 * 0.4 && fitted->betaNsPerByte.high >= 0.4;
    }
    EXPECT_GE(alphas, kDraws * 9 / 10);
    EXPECT_GE(betas, kDraws * 9 / 10);
}

TEST(CalibrationFit, IsTheSameForTheSameSamples) {
    const auto times = drawn(25'000, 0.4, 7);
    const auto first = fitWithInterval(times), second = fitWithInterval(times);
    EXPECT_EQ(first->alphaNs, second->alphaNs);
    EXPECT_EQ(first->betaNsPerByte, second->betaNsPerByte);
    EXPECT_LT(first->betaNsPerByte.low, first->betaNsPerByte.high);
}

TEST(CalibrationFit, HasNothingToSayOfOneSize) {
    EXPECT_FALSE(fitWithInterval({}));
    EXPECT_FALSE(fitWithInterval({{{100}, {10}}, {{100}, {11}}}));
}

TEST(CalibrationFit, TheIntervalOfAMedianLiesBetweenItsSamples) {
    const Interval interval = medianInterval({1, 2, 3, 4, 100});
    EXPECT_GE(interval.low, 1);
    EXPECT_LE(interval.high, 100);
    EXPECT_LE(interval.low, 3);
    EXPECT_GE(interval.high, 3);
    EXPECT_EQ(medianInterval({5}), (Interval{5, 5}));
}

Transfer transfer(CollectiveOp operation, std::int64_t size, std::int64_t ns) {
    Transfer made;
    made.operation = operation;
    made.size = {size};
    made.transfer = Duration{ns};
    made.ranks = 2;
    return made;
}

RecordingSummary summary() {
    RecordingSummary made;
    made.run.product = "shardscope 1.2.3";
    made.run.startedUnixNs = 1'700'000'000'000'000'000;
    made.hosts = {{1, "node-b", "other CPU", 8, {}, "", 0, 0},
                  {0, "node-a", "CPU", 4, {}, "", 0, 0}};
    for (const double value : {3e9, 5e9, 4e9})
        made.metrics.push_back({"measured/0/triad/4", {0}, {0}, value});
    made.metrics.push_back({"measured/0/launch/1", {0}, {0}, 3e-6});
    made.metrics.push_back({"measured/0/launch/1", {0}, {0}, 2e-6});
    made.metrics.push_back({"measured/0/matmul/fp32/1024x1024x1024/4", {0}, {0}, 1e11});
    made.metrics.push_back({"measured/0/matmul/fp32/2048x1024x4096/4", {0}, {0}, 2e11});
    made.metrics.push_back({"measured/1/triad/4", {0}, {0}, 9e9});
    made.metrics.push_back({"loss", {0}, {0}, 1});
    return made;
}

Calibration sample() {
    const RecordingSummary rows = summary();
    run::RunConfig config;
    config.threads = 2;
    std::vector<Transfer> transfers;
    for (std::int64_t size = 1'000; size <= 1'000'000; size *= 10)
        for (const std::int64_t late : {0, 10, 30})
            transfers.push_back(transfer(CollectiveOp::kAllReduce, size, 5'000 + size / 2 + late));
    transfers.push_back(transfer(CollectiveOp::kBarrier, 0, 10));
    transfers.push_back(transfer(CollectiveOp::kBroadcast, 4'000, 100));  // one size: no line
    return calibrationOf({rows, config, transfers});
}

TEST(Calibration, IsOfTheFirstHostAndItsFigures) {
    const Calibration calibration = sample();
    EXPECT_EQ(calibration.host, "node-a");
    EXPECT_EQ(calibration.device, "CPU");
    EXPECT_EQ(calibration.cores, 4);
    EXPECT_EQ(calibration.unixS, 1'700'000'000);
    ASSERT_EQ(calibration.rates.size(), 4u);
    EXPECT_EQ(calibration.rates[0].samples, 3);
    EXPECT_EQ(calibration.rates[0].best, 5e9);
    EXPECT_EQ(calibration.rates[0].median, 4e9);
    EXPECT_EQ(rateOf(calibration, MachineFigure::kLaunch), 2e-6);  // the least of a time
    EXPECT_EQ(rateOf(calibration, MachineFigure::kTriad), 5e9);    // and not another host's
    EXPECT_FALSE(rateOf(calibration, MachineFigure::kToDevice));
}

TEST(Calibration, KnowsProductsByTypeAndByTheNearestShape) {
    const Calibration calibration = sample();
    EXPECT_EQ(matmulFlops(calibration, run::Precision::kFloat32), 2e11);
    EXPECT_EQ(matmulFlops(calibration, run::Precision::kFloat32, 900, 1'100, 1'000), 1e11);
    EXPECT_EQ(matmulFlops(calibration, run::Precision::kFloat32, 2'000, 1'000, 5'000), 2e11);
    EXPECT_FALSE(matmulFlops(calibration, run::Precision::kBFloat16));
}

TEST(Calibration, FitsEachOperationThatMovesDataAtSeveralSizes) {
    const Calibration calibration = sample();
    ASSERT_EQ(calibration.collectives.size(), 1u);
    const CollectiveCost& cost = calibration.collectives[0];
    EXPECT_EQ(cost.operation, CollectiveOp::kAllReduce);
    EXPECT_EQ(cost.communicator, run::CommunicatorKind::kSharedMemory);
    EXPECT_EQ(cost.ranks, 2);
    EXPECT_EQ(cost.rounds, 3);
    EXPECT_EQ(cost.threads, 2);
    EXPECT_FALSE(cost.sharedCores);
    EXPECT_NEAR(cost.fit.latencyNs, 5'000, 1);
    EXPECT_NEAR(cost.fit.nsPerByte, 0.5, 1e-6);
    EXPECT_EQ(cost.smallest.count, 1'000);
    EXPECT_EQ(cost.largest.count, 1'000'000);
    EXPECT_NEAR(*cost.bestBusBandwidth, 1e6 / 505'000e-9, 1);
}

/// A broadcast is over for its root at once, and for the others when they have it.
TEST(Calibration, TimesUntilTheLastRankHasTheResult) {
    Transfer broadcast = transfer(CollectiveOp::kBroadcast, 4'000, 20);
    EXPECT_EQ(broadcast.completion()->ns, 20);  // nothing else is known
    broadcast.range = {{1'000}, {1'900}};
    broadcast.skew = Duration{300};
    EXPECT_EQ(broadcast.completion()->ns, 600);
    broadcast.transfer.reset();
    broadcast.skew.reset();
    EXPECT_FALSE(broadcast.completion());
}

TEST(Calibration, SaysWhereRanksSharedCores) {
    RecordingSummary rows = summary();
    rows.diagnostics.push_back(
        {Severity::kWarning, "more-ranks-than-cores", "", "", std::nullopt, {0}, 1});
    const auto calibration = calibrationOf({rows,
                                            run::RunConfig(),
                                            {transfer(CollectiveOp::kAllReduce, 1'000, 100),
                                             transfer(CollectiveOp::kAllReduce, 4'000, 200)}});
    ASSERT_EQ(calibration.collectives.size(), 1u);
    EXPECT_TRUE(calibration.collectives[0].sharedCores);
}

TEST(Calibration, PredictsOtherNumbersOfRanksAsARing) {
    const Calibration calibration = sample();
    const auto two =
        costOf(calibration, CollectiveOp::kAllReduce, run::CommunicatorKind::kSharedMemory, 2);
    ASSERT_TRUE(two);
    EXPECT_TRUE(two->measured);
    EXPECT_NEAR(two->cost.at({1'000}), 5'500, 1);
    const auto four =
        costOf(calibration, CollectiveOp::kAllReduce, run::CommunicatorKind::kSharedMemory, 4);
    ASSERT_TRUE(four);
    EXPECT_FALSE(four->measured);
    EXPECT_NEAR(four->cost.latencyNs, 3 * 5'000, 3);
    EXPECT_NEAR(four->cost.nsPerByte, 0.5 * 1.5 / 1.0, 1e-6);
    EXPECT_FALSE(costOf(calibration, CollectiveOp::kAllReduce, run::CommunicatorKind::kGloo, 2));
    EXPECT_FALSE(
        costOf(calibration, CollectiveOp::kAllGather, run::CommunicatorKind::kSharedMemory, 2));
    EXPECT_FALSE(
        costOf(calibration, CollectiveOp::kAllReduce, run::CommunicatorKind::kSharedMemory, 2, 2));
}

TEST(Calibration, OfAFigureTheBetterOneStandsUntilItIsOld) {
    Calibration older = sample(), newer = sample();
    newer.unixS = older.unixS + 3600;
    for (MachineRate& rate : newer.rates) {
        rate.unixS = newer.unixS;
        const bool more = entryOf(rate.what.figure)->moreIsBetter;
        rate.best *= more ? 0.1 : 10;  // other work had the machine
    }
    for (std::size_t i = 0; i < newer.rates.size(); ++i) {
        EXPECT_EQ(merged(newer, older).rates[i].best, older.rates[i].best);
        EXPECT_EQ(merged(newer, older).rates[i].unixS, older.rates[i].unixS);
        EXPECT_EQ(merged(older, newer).rates[i].best, older.rates[i].best);
    }
    newer.unixS = older.unixS + kOldCalibrationS + 1;
    EXPECT_EQ(merged(newer, older).rates[0].best, newer.rates[0].best);
}

TEST(Calibration, KeepsWhatAnotherRunMeasuredAndReplacesTheRest) {
    Calibration older = sample();
    older.quick = true;
    Calibration newer = sample();
    newer.rates.clear();
    newer.unixS += 100;
    newer.collectives[0].fit.latencyNs = 1;
    CollectiveCost four = newer.collectives[0];
    four.ranks = 4;
    older.collectives.push_back(four);
    const Calibration both = merged(newer, older);
    EXPECT_EQ(both.rates.size(), 4u);
    EXPECT_EQ(both.unixS, older.unixS);  // of the rates
    EXPECT_TRUE(both.quick);
    ASSERT_EQ(both.collectives.size(), 2u);
    EXPECT_EQ(both.collectives[0].ranks, 2);
    EXPECT_EQ(both.collectives[0].fit.latencyNs, 1);
    EXPECT_EQ(both.collectives[1].ranks, 4);
}

TEST(Calibration, ComesBackFromJson) {
    Calibration calibration = sample();
    calibration.quick = true;
    calibration.host = "a \"quoted\" host";
    const std::string json = toJson(calibration);
    const auto back = parseCalibration(json);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(toJson(*back), json);
    EXPECT_EQ(back->host, calibration.host);
    EXPECT_EQ(back->rates[2].what, calibration.rates[2].what);
    EXPECT_EQ(back->collectives[0].fit.latencyNs, calibration.collectives[0].fit.latencyNs);
    EXPECT_EQ(back->collectives[0].alphaNs, calibration.collectives[0].alphaNs);
}

/// Cut off anywhere, or with a word or a number that cannot be.
TEST(Calibration, SaysWhatIsDamaged) {
    const std::string json = toJson(sample());
    for (std::size_t length = 0; length + 2 < json.size(); length += 37)
        EXPECT_EQ(parseCalibration(json.substr(0, length)).error().code, ErrorCode::kUnreadable);
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string changed = json;
        changed.replace(changed.find(from), from.size(), to);
        const auto parsed = parseCalibration(changed);
        EXPECT_FALSE(parsed) << to;
        return parsed ? std::string() : parsed.error().message;
    };
    EXPECT_THAT(with("calibration/1", "calibration/9"), HasSubstr("schema"));
    EXPECT_THAT(with("\"all-reduce\"", "\"all-wrong\""),
                HasSubstr("'all-wrong', which is unknown"));
    EXPECT_THAT(with("\"alpha_ns\": ", "\"alpha_ns\": -"), HasSubstr("alpha_ns is -"));
    EXPECT_THAT(with("\"best\": 5", "\"best\": null, \"no\": 5"), HasSubstr("not a calibration"));
    EXPECT_THAT(with("\"samples\"", "\"simples\""), HasSubstr("samples"));
}

TEST(Calibration, TellsItsAgeInTheLargestUnit) {
    EXPECT_EQ(ageText(1'000, 1'000), "less than a minute");
    EXPECT_EQ(ageText(1'000, 500), "less than a minute");  // a clock that was set back
    EXPECT_EQ(ageText(0, 60), "1 minute");
    EXPECT_EQ(ageText(0, 2 * 3600 + 5), "2 hours");
    EXPECT_EQ(ageText(0, 90LL * 24 * 3600), "90 days");
}

TEST(CalibrationProgress, IsReadAsItWasSaid) {
    const std::string line = textOf(CalibrationProgress{"the machine (CPU) and 2 ranks", 1, 2});
    EXPECT_EQ(line, "Measuring the machine (CPU) and 2 ranks (1 of 2).");
    const auto read = parseCalibrationProgress(line);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->subject, "the machine (CPU) and 2 ranks");
    EXPECT_EQ(read->run, 1);
    EXPECT_EQ(read->runs, 2);
    for (const char* other :
         {"", "Measuring ", "Measuring (1 of 2)", "Measuring x (1 of )", "Measuring x (3 of 2).",
          "Measuring x (0 of 2).", "Kept in x (1 of 2)."})
        EXPECT_FALSE(parseCalibrationProgress(other)) << other;
}

}  // namespace
}  // namespace shardscope::planning
