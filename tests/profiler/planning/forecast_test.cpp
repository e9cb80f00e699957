#include "profiler/planning/forecast.h"

#include "engine/run/theory/model_theory.h"
#include "profiler/planning/compute_times.h"
#include "profiler/planning/model_plan.h"
#include "profiler/planning/plan_times.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"
#include "tests/profiler/planning/played_recording.h"
#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>

#include <cmath>

namespace shardscope::planning {
namespace {

using run::RunConfig;
using run::Strategy;
using test::Pace;
using test::playRecording;
using testing::HasSubstr;

constexpr theory::LinkModel kLink{20e-6, 1e9}, kSlow{100e-6, 0.1e9};
constexpr std::int32_t kSteps = 8;

RunConfig configOf(Strategy strategy, std::int32_t ranks = 4) {
    RunConfig config;
    config.model = *run::findModelPreset("tiny");
    config.data = run::kSyntheticData;
    config.model.layers = 4;
    config.threads = 1;
    return overRanks(config, strategy == Strategy::kSingle ? 1 : ranks, strategy);
}

ComputeTimes learned(const test::PlayedRecording& recording) {
    auto times = computeTimesOf(recording.summary, recording.ranks);
    EXPECT_TRUE(times) << times.error().message;
    return *times;
}

Duration predicted(const ComputeTimes& times, const RunConfig& config,
                   const theory::LinkModel& link, std::int32_t ranksOnHost = 1) {
    const LinkTimes model(link, "given");
    return forecast(config, {times, &model, ranksOnHost}).step.time;
}

/// Within a few nanoseconds for each thing that is computed.
void expectSame(Duration a, Duration b, const std::string& what) {
    EXPECT_NEAR(static_cast<double>(a.ns), static_cast<double>(b.ns), 300) << what;
}

TEST(Forecast, OfWhatWasRecordedIsWhatWasRecorded) {
    for (const Strategy strategy : kAll<Strategy>) {
        RunConfig config = configOf(strategy);
        if (strategy == Strategy::kHsdp) config.shardRanks = 2;
        const auto recording = playRecording(config, Pace{}, kLink, kSteps);
        expectSame(predicted(learned(recording), config, kLink), recording.step, toWord(strategy));
    }
}

TEST(Forecast, OneStrategySaysHowLongTheOthersTake) {
    Pace pace;
    pace.after = 1'000;
    const auto base = playRecording(configOf(Strategy::kZero3), pace, kLink, kSteps);
    const ComputeTimes times = learned(base);
    for (const Strategy strategy :
         {Strategy::kDdpNaive, Strategy::kDdpBucket, Strategy::kZero1, Strategy::kZero2}) {
        const RunConfig config = configOf(strategy);
        const auto recording = playRecording(config, pace, kLink, kSteps);
        // What lies between two things is known of the step as a whole.
        EXPECT_NEAR(predicted(times, config, kLink).seconds() / recording.step.seconds(), 1, 0.01)
            << toWord(strategy);
    }
}

TEST(Forecast, TwoRanksSayHowLongFourTakeAndOneLinkAnother) {
    const ComputeTimes times =
        learned(playRecording(configOf(Strategy::kZero2, 2), Pace{}, kLink, kSteps));
    for (const std::int32_t ranks : {2, 4, 8})
        for (const auto& link : {kLink, kSlow}) {
            const RunConfig config = configOf(Strategy::kZero2, ranks);
            expectSame(predicted(times, config, link),
                       playRecording(config, Pace{}, link, kSteps).step, std::to_string(ranks));
        }
}

TEST(Forecast, MicroStepsPrefetchAndBatchAreCarriedOver) {
    const ComputeTimes times =
        learned(playRecording(configOf(Strategy::kZero3), Pace{}, kLink, kSteps));
    RunConfig more = configOf(Strategy::kZero3);
    more.accumulate = 3;
    more.prefetch = 3;
    expectSame(predicted(times, more, kLink), playRecording(more, Pace{}, kLink, kSteps).step,
               "three micro-steps");
    RunConfig large = configOf(Strategy::kZero3);
    large.batch *= 2;
    Pace twice;
    for (auto* each : {&twice.data, &twice.embed, &twice.block, &twice.head, &twice.blockBackward,
                       &twice.embedBackward})
        *each *= 2;
    expectSame(predicted(times, large, kLink), playRecording(large, twice, kLink, kSteps).step,
               "twice the batch");
}

TEST(Forecast, RanksThatShareCoresTakeTurns) {
    const auto recording = playRecording(configOf(Strategy::kZero3, 2), Pace{}, kLink, kSteps, 2);
    const ComputeTimes times = learned(recording);
    EXPECT_EQ(times.cores, 2);
    EXPECT_EQ(times.ranksOnHost, 2);
    const RunConfig four = configOf(Strategy::kZero3, 4);
    Pace half;
    for (auto* each : {&half.data, &half.embed, &half.block, &half.head, &half.blockBackward,
                       &half.embedBackward, &half.clipElement, &half.optimizerElement})
        *each *= 2;
    expectSame(predicted(times, four, kLink, 4), playRecording(four, half, kLink, kSteps).step,
               "four on two cores");
    expectSame(predicted(times, four, kLink, 2), playRecording(four, Pace{}, kLink, kSteps).step,
               "two hosts");
}

TEST(Forecast, TheBandHoldsErrorSpreadAndDistance) {
    const auto recording = playRecording(configOf(Strategy::kSingle), Pace{}, kLink, 20);
    ComputeTimes times = learned(recording);
    const auto bandOf = [&](std::int32_t accumulate) {
        RunConfig config = configOf(Strategy::kSingle);
        config.accumulate *= accumulate;
        const Forecast made = forecast(config, {times, nullptr, 1});
        EXPECT_LT(made.low, made.step.time);
        EXPECT_GT(made.high, made.step.time);
        return made.high.seconds() / made.step.time.seconds() - 1;
    };
    EXPECT_NEAR(bandOf(1), 1.2816 * std::sqrt(2.0) * times.spread, 1e-3)
        << "of the recorded run and of the one to come";
    EXPECT_GT(bandOf(8), 2 * bandOf(1)) << "other settings";
    const double still = bandOf(1);
    times.spread = 0.1;
    EXPECT_NEAR(bandOf(1), 0.12816 * std::sqrt(2.0), 2e-3);
    times.spread = still / 1.2816;
    times.replayed = times.recorded;
    times.recorded = Duration{times.recorded->ns * 6 / 5};
    EXPECT_GT(bandOf(1), 0.2) << "the model is off by a sixth";
}

TEST(Forecast, TheBandIsOfTheRecordedLinkWhateverLinkIsAskedFor) {
    const auto recording = playRecording(configOf(Strategy::kZero3), Pace{}, kLink, 20);
    auto times = timesOfRecording(recording.summary, recording.ranks, "run");
    ASSERT_TRUE(times);
    const LinkTimes slow(kSlow, "given");
    const ComputeTimes& own = times->computing.front();
    const Forecast made = forecast(own.config, {own, &slow, own.ranksOnHost});
    EXPECT_GT(made.step.time.seconds(), 1.5 * own.recorded->seconds())
        << "far from the recorded one";
    EXPECT_LT(made.high.seconds() / made.step.time.seconds(), 1.3);
}

TEST(Forecast, MoreRanksThanRecordedOnAHostWidenTheBand) {
    const auto recording = playRecording(configOf(Strategy::kZero3, 2), Pace{}, kLink, 20);
    const ComputeTimes times = learned(recording);
    const LinkTimes link(kLink, "given");
    const auto width = [&](std::int32_t onHost) {
        const Forecast made = forecast(configOf(Strategy::kZero3, 4), {times, &link, onHost});
        return made.high.seconds() / made.step.time.seconds() - 1;
    };
    EXPECT_GT(width(4), width(2) + 0.05);
}

TEST(Forecast, ABandIsOfFourInFiveRuns) {
    const Duration step{100'000'000};
    const auto width = [&](Duration played, double spread, double error, double more = 0) {
        const Band band = bandOf(step, played, spread, error, more);
        EXPECT_NEAR(static_cast<double>((band.high - step).ns),
                    static_cast<double>((step - band.low).ns), 2);
        return (band.high - step).seconds() / step.seconds();
    };
    EXPECT_NEAR(width(step, 0.1, 0), 0.12816 * std::sqrt(2.0), 1e-6);
    EXPECT_NEAR(width(step, 0.03 / std::sqrt(2.0), 0.04), 0.05 * 1.2816, 1e-6);
    EXPECT_NEAR(width(step, 0, 0.03, 0.04), 0.05 * 1.2816, 1e-6);
    EXPECT_NEAR(width(Duration{271'828'183}, 0, 0), kTransferError * 1.2816, 1e-6);
    const std::vector<FactRow> none, shared{{toWord(Fact::kHardware), 0, -1, kVirtualHardware}};
    EXPECT_NEAR(spreadOfRuns(std::vector<double>(20, 1.0), none), 0.015, 1e-9) << "of any machine";
    EXPECT_NEAR(spreadOfRuns({1, 9}, none), 0.015, 1e-9) << "too few for stretches";
    EXPECT_NEAR(spreadOfRuns({1, 9}, shared), 0.035, 1e-9) << "beside other machines";
    std::vector<double> faster(10, 1.0);
    faster.resize(20, 2.0);
    EXPECT_GT(spreadOfRuns(faster, none), 0.2);
}

TEST(Forecast, WaitsForTheSlowestOfItsRanks) {
    ComputeTimes times = learned(playRecording(configOf(Strategy::kZero3, 2), Pace{}, kLink, 20));
    EXPECT_LT(times.lateness, 0.01) << "drawn ranks are alike";
    const LinkTimes link(kLink, "given");
    const auto stepOf = [&](std::int32_t ranks) {
        return forecast(configOf(ranks == 1 ? Strategy::kSingle : Strategy::kZero3, ranks),
                        {times, &link, ranks})
            .step;
    };
    const PlayedStep alike = stepOf(2), alone = stepOf(1);
    times.lateness = 0.1;
    EXPECT_NEAR(stepOf(2).time.seconds(), alike.time.seconds() + 0.1 * alike.computing.seconds(),
                1e-5);
    EXPECT_EQ(stepOf(1).time, alone.time) << "one rank waits for none";
    EXPECT_NEAR(stepOf(8).late.seconds() / stepOf(8).computing.seconds(), 0.1 * 1.4236 / 0.5642,
                1e-3);
}

TEST(ComputeTimes, OfARunWithoutCoresAreRefused) {
    auto recording = playRecording(configOf(Strategy::kSingle), Pace{}, kLink, 20);
    for (StepFacts& step : recording.summary.steps.own())
        step.coreWaitNs = step.range().duration().ns * 2 / 5;
    EXPECT_THAT(computeTimesOf(recording.summary, recording.ranks),
                test::FailsWith("without a core for 40 %"));
    for (StepFacts& step : recording.summary.steps.own()) step.coreWaitNs /= 2;
    const auto times = timesOfRecording(recording.summary, recording.ranks, "busy.sscope");
    ASSERT_TRUE(times);
    EXPECT_THAT(times->doubt, HasSubstr("ranks of busy.sscope were without a core for 20 %"));
}

TEST(Forecast, MoreTokensTipARunFromCommunicationToCompute) {
    const ComputeTimes times =
        learned(playRecording(configOf(Strategy::kDdpFlat), Pace{}, kSlow, kSteps));
    const LinkTimes link(kSlow, "given");
    RunConfig config = configOf(Strategy::kDdpFlat);
    const ForecastInput input{times, &link, 1};
    ASSERT_TRUE(forecast(config, input).communicationBound());
    const auto tokens = tippingTokens(config, input);
    ASSERT_TRUE(tokens);
    const auto sequences = *tokens / static_cast<double>(config.model.context);
    config.batch = static_cast<std::int32_t>(sequences);
    EXPECT_TRUE(forecast(config, input).communicationBound());
    config.batch += 1;
    EXPECT_FALSE(forecast(config, input).communicationBound());
}

TEST(Forecast, AFastLinkTipsNothing) {
    const ComputeTimes times =
        learned(playRecording(configOf(Strategy::kZero3), Pace{}, kLink, kSteps));
    const LinkTimes link({0, 1e15}, "given");
    EXPECT_FALSE(tippingTokens(configOf(Strategy::kZero3), {times, &link, 1}));
}

TEST(Projection, WeakScalingLosesWhatCommunicationCostsAndStrongMore) {
    PlanTimes times;
    times.computing.push_back(
        learned(playRecording(configOf(Strategy::kDdpFlat), Pace{}, kLink, kSteps)));
    times.link.emplace(kLink, "given");
    RunConfig config = configOf(Strategy::kDdpFlat);
    config.model.hidden = 256;  // that 1,024 ranks can share
    const auto weak = projectModel(config, times, Scaled::kWeak, 1024);
    ASSERT_EQ(weak.size(), 11u);
    EXPECT_EQ(weak.front().efficiency, 1);
    for (std::size_t i = 1; i < weak.size(); ++i) {
        EXPECT_EQ(weak[i].ranks, 2 * weak[i - 1].ranks);
        EXPECT_LT(weak[i].efficiency, weak[i - 1].efficiency);
    }
    const auto strong = projectModel(config, times, Scaled::kStrong, 1024);
    ASSERT_EQ(strong.size(), 6u) << "a batch of 32 is divided by up to 32 ranks";
    EXPECT_LT(strong[4].efficiency, weak[4].efficiency);
}

TEST(Projection, IsAboveLinearByWhatTheUpdateSavesAtMost) {
    for (const Strategy strategy : {Strategy::kDdpBucket, Strategy::kZero1, Strategy::kZero3}) {
        PlanTimes times;
        times.computing.push_back(timesAt(configOf(strategy), {1e12, 1e8, "slow memory"}));
        times.link.emplace(theory::LinkModel{1e-9, 1e15}, "given");
        times.ranksOnHost = 8;
        const auto rows = projectModel(configOf(strategy), times, Scaled::kWeak, 8);
        ASSERT_EQ(rows.size(), 4U);
        const PlayedStep &alone = rows.front().forecast.step, &last = rows.back().forecast.step;
        EXPECT_GT(rows.back().efficiency, strategy == Strategy::kDdpBucket ? 1 : 1.05)
            << toWord(strategy) << ": DDP shares the norm alone";
        EXPECT_LE((alone.time - last.time).ns, (alone.updating - last.updating).ns + 300)
            << toWord(strategy);
    }
}

TEST(Projection, GoesAsFarAsItsLink) {
    PlanTimes times;
    times.computing.push_back(
        learned(playRecording(configOf(Strategy::kZero3), Pace{}, kLink, kSteps)));
    times.link.emplace(kLink, "given");
    times.linkReach = 8;
    EXPECT_EQ(projectModel(configOf(Strategy::kZero3), times, Scaled::kWeak, 64).back().ranks, 8);
    EXPECT_TRUE(forecastOf(configOf(Strategy::kZero3, 8), times));
    EXPECT_THAT(forecastOf(configOf(Strategy::kZero3, 16), times),
                test::FailsWith("the link joins 8 ranks at most"));
    const auto rows = projectModel(configOf(Strategy::kZero3), times, Scaled::kWeak, 64);
    EXPECT_TRUE(endOf(rows, configOf(Strategy::kZero3), times, 8).why.empty());
    const ProjectionEnd end = endOf(rows, configOf(Strategy::kZero3), times, 64);
    EXPECT_THAT(end.why, HasSubstr("the link joins 8 ranks"));
    EXPECT_TRUE(end.byLink);
}

TEST(Projection, EndsWhereItsFitDoes) {
    const auto recording = playRecording(configOf(Strategy::kZero3, 2), Pace{}, kLink, kSteps);
    const auto times = timesOfRecording(recording.summary, recording.ranks, "two.sscope");
    ASSERT_TRUE(times);
    const RunConfig config = configOf(Strategy::kZero3, 2);
    const auto rows = projectModel(config, *times, Scaled::kWeak, 64);
    ASSERT_EQ(rows.size(), 2u);
    const ProjectionEnd end = endOf(rows, config, *times, 64);
    EXPECT_THAT(end.why, HasSubstr("among 4 ranks was measured, only among 2"));
    EXPECT_TRUE(end.byLink);
}

TEST(Projection, NeedsALink) {
    PlanTimes times;
    times.computing.push_back(
        learned(playRecording(configOf(Strategy::kSingle), Pace{}, kLink, kSteps)));
    EXPECT_TRUE(projectModel(configOf(Strategy::kZero3), times, Scaled::kWeak, 8).empty());
    EXPECT_THAT(forecastOf(configOf(Strategy::kZero3), times),
                test::FailsWith("nothing is known of the link between ranks"));
    EXPECT_TRUE(forecastOf(configOf(Strategy::kSingle), times));
}

TEST(ComputeTimes, AreThoseOfTheRecordingWithAsManyRanksOnAHost) {
    PlanTimes times;
    for (const std::int32_t ranks : {1, 2, 8}) {
        ComputeTimes each;
        each.ranksOnHost = ranks;
        times.computing.push_back(each);
    }
    for (const auto& [asked, found] : {std::pair{1, 1}, {2, 2}, {4, 2}, {8, 8}, {64, 8}})
        EXPECT_EQ(timesFor(times, asked).ranksOnHost, found);
    times.computing.erase(times.computing.begin(), times.computing.begin() + 2);
    EXPECT_EQ(timesFor(times, 1).ranksOnHost, 8);
}

TEST(ComputeTimes, OfAForeignTraceAreNotKnown) {
    auto recording = playRecording(configOf(Strategy::kZero3), Pace{}, kLink, kSteps);
    recording.summary.run.configJson.clear();
    const auto times = computeTimesOf(recording.summary, recording.ranks);
    ASSERT_FALSE(times);
    EXPECT_EQ(times.error().code, ErrorCode::kUsage);
    EXPECT_THAT(times.error().message, HasSubstr("shardscope record"));
}

TEST(ComputeTimes, OfARunThatMeasuredAreNone) {
    RunConfig config = configOf(Strategy::kZero3);
    auto recording = playRecording(config, Pace{}, kLink, kSteps);
    config.work = run::Work::kMeasuring;
    recording.summary.run.configJson = run::toJson(config);
    const auto times = computeTimesOf(recording.summary, recording.ranks);
    ASSERT_FALSE(times);
    EXPECT_THAT(times.error().message, HasSubstr("trained nothing"));
}

TEST(ComputeTimes, NeedPhases) {
    auto recording = playRecording(configOf(Strategy::kZero3), Pace{}, kLink, kSteps);
    for (RankEvents& events : recording.ranks) events.phases.clear();
    const auto times = computeTimesOf(recording.summary, recording.ranks);
    ASSERT_FALSE(times);
    EXPECT_THAT(times.error().message, HasSubstr("--capture"));
}

TEST(ComputeTimes, OfADeviceAreTheTimeOfItsKernels) {
    RunConfig config = configOf(Strategy::kZero3, 2);
    auto recording = playRecording(config, Pace{}, kLink, kSteps);
    config.device = run::Device::kCuda;
    recording.summary.run.configJson = run::toJson(config);
    EXPECT_THAT(computeTimesOf(recording.summary, recording.ranks).error().message,
                HasSubstr("--device-capture"));
    for (RankEvents& events : recording.ranks)
        for (const StepFacts& step : recording.summary.steps)
            if (step.rank == events.rank)
                events.computeKernels.push_back({step.start, step.start + Duration{600'000}});
    const ComputeTimes times = learned(recording);
    const auto busy = 4 * (times.block.ns + times.blockBackward.ns) + times.head.ns;
    EXPECT_NEAR(static_cast<double>(busy), 600'000, 20);
    EXPECT_NEAR(static_cast<double>(times.blockBackward.ns),
                2.0 * static_cast<double>(times.block.ns), 2);
    EXPECT_NEAR(static_cast<double>(times.rest.ns),
                static_cast<double>(recording.step.ns - 600'000), 30'000);
    EXPECT_EQ(times.cores, 0) << "its host's cores do not compute";
}

TEST(ComputeRates, AreProductsOverWhatTheDeviceReaches) {
    RunConfig config = configOf(Strategy::kSingle);
    const ComputeTimes times = timesAt(config, {1e12, 1e11, "given"}, {0.5, 0.25, 1});
    const auto flops =
        theory::forwardFlopsPerToken(config.model, theory::AttentionCount::kCausal).blocks() / 4;
    const auto tokens = static_cast<double>(config.batch * config.model.context);
    EXPECT_NEAR(times.block.seconds(), tokens * flops / 0.5e12, 1e-9);
    EXPECT_EQ(times.blockBackward.ns, 2 * times.block.ns);
    EXPECT_NEAR(times.optimizerNs, 28 / 1e11 * 1e9, 1e-9);
    EXPECT_DOUBLE_EQ(times.low, 0.5);
    EXPECT_DOUBLE_EQ(times.high, 2);
}

TEST(LinkTimes, OfARecordingAreThoseOfItsCollectives) {
    RunConfig config = configOf(Strategy::kZero3, 4);
    const auto recording = playRecording(config, Pace{}, kLink, kSteps);
    const auto link = linkOf(recording.summary, recording.ranks);
    ASSERT_TRUE(link);
    const theory::LinkModel& gather = link->model(CollectiveOp::kAllGather);
    EXPECT_NEAR(gather.latencySeconds, kLink.latencySeconds, 0.02 * kLink.latencySeconds);
    EXPECT_NEAR(gather.bytesPerSecond, kLink.bytesPerSecond, 0.02 * kLink.bytesPerSecond);
    // Of as many ranks, up to twice the largest; an all-reduce is both of them.
    EXPECT_TRUE(link->covers(CollectiveOp::kAllGather, 4, Bytes{1}));
    EXPECT_FALSE(link->covers(CollectiveOp::kAllGather, 8, Bytes{1}));
    EXPECT_FALSE(link->covers(CollectiveOp::kAllGather, 4, Bytes{std::int64_t{1} << 40}));
    EXPECT_FALSE(link->covers(CollectiveOp::kBroadcast, 4, Bytes{1}));
    const Bytes size{20'000};
    ASSERT_TRUE(link->covers(CollectiveOp::kAllReduce, 4, size));
    EXPECT_NEAR(
        link->of(CollectiveOp::kAllReduce, 4, size).seconds(),
        static_cast<double>(theory::modelledNs(kLink, CollectiveOp::kAllReduce, 4, size.count)) *
            1e-9,
        2e-4);
    // What nothing is known of is said, not guessed.
    RunConfig eight = configOf(Strategy::kZero3, 8);
    const ComputeTimes times = learned(recording);
    EXPECT_THAT(forecast(eight, {times, &*link, 8}).unknown, HasSubstr("among 8 ranks"));
    EXPECT_THAT(forecast(config, {times, &*link, 4}).unknown, testing::IsEmpty());
}

TEST(LinkTimes, SayWhyATransferIsUnknown) {
    LinkTimes link({}, "fitted for this test");
    EXPECT_EQ(link.source(), "fitted for this test");
    link.set(CollectiveOp::kAllReduce, 2, {1e4, 1, 2, Bytes{8}, Bytes{32}});
    link.set(CollectiveOp::kAllGather, 2, {1e4, 1, 2, Bytes{8}, Bytes{300}});
    link.set(CollectiveOp::kAllGather, 4, {1e4, 1, 2, Bytes{8}, Bytes{400}});
    EXPECT_EQ(link.source(),
              "fitted for this test, among 2 ranks: all-gather up to 600 B, all-reduce up to 64 B; "
              "among 4 ranks: all-gather up to 800 B; unknown beyond");
    const auto why = [&](CollectiveOp operation, std::int32_t ranks, std::int64_t size) {
        return link.whyUnknown(operation, ranks, Bytes{size});
    };
    EXPECT_EQ(why(CollectiveOp::kAllReduce, 2, 64), "");
    EXPECT_EQ(
        why(CollectiveOp::kAllReduce, 2, 500),
        "no all-reduce among 2 ranks was measured above 32 B; the fit is used up to 64 B, and "
        "one of 500 B is needed");
    EXPECT_EQ(why(CollectiveOp::kAllGather, 8, 64),
              "no all-gather among 8 ranks was measured, only among 2, 4");
    EXPECT_EQ(why(CollectiveOp::kBroadcast, 2, 64), "no broadcast among 2 ranks was measured");
    link.set(CollectiveOp::kReduceScatter, 2, {1e4, 1, 2, Bytes{8}, Bytes{250}});
    EXPECT_EQ(why(CollectiveOp::kAllReduce, 2, 500), "");
    EXPECT_EQ(why(CollectiveOp::kAllReduce, 2, 900),
              "neither an all-reduce nor the reduce-scatter and all-gather that it consists of "
              "among 2 ranks was measured above 250 B; the fit is used up to 500 B, and one "
              "of 900 B is needed");
}

TEST(PlanTimes, SayHowFarTheModelIsOffTheRecordedStep) {
    auto recording = playRecording(configOf(Strategy::kZero3), Pace{}, kLink, kSteps);
    const auto times = timesOfRecording(recording.summary, recording.ranks, "four.sscope");
    ASSERT_TRUE(times);
    ASSERT_TRUE(times->replayError);
    EXPECT_NEAR(*times->replayError, 0, 0.01);
    EXPECT_THAT(times->source, HasSubstr("the model plays its step"));
    for (RankEvents& events : recording.ranks) events.collectives.clear();
    const auto without = timesOfRecording(recording.summary, recording.ranks, "four.sscope");
    ASSERT_TRUE(without);
    EXPECT_FALSE(without->replayError);
    EXPECT_THAT(without->source, HasSubstr("the error of the model on its step is unknown (nothing "
                                           "is known of the link"));
}

TEST(LinkTimes, OfARunThatModelsOneAreTheModels) {
    RunConfig config = configOf(Strategy::kZero3, 2);
    config.linkGigabytesPerSecond = 2.5;
    config.linkLatencyMicroseconds = 30;
    const auto link = linkOf(playRecording(config, Pace{}, kLink, kSteps).summary, {});
    ASSERT_TRUE(link);
    EXPECT_DOUBLE_EQ(link->model(CollectiveOp::kAllReduce).bytesPerSecond, 2.5e9);
    EXPECT_THAT(link->source(), HasSubstr("modelled"));
    const LinkTimes half = link->scaled(1, 0.5);
    EXPECT_DOUBLE_EQ(half.model(CollectiveOp::kAllReduce).bytesPerSecond, 1.25e9);
}

TEST(LinkTimes, OneRankHasNone) {
    const auto recording = playRecording(configOf(Strategy::kSingle), Pace{}, kLink, kSteps);
    EXPECT_FALSE(linkOf(recording.summary, recording.ranks));
}

}  // namespace
}  // namespace shardscope::planning
