#include "profiler/analysis/compare/grounds.h"

#include "engine/run/config/run_config.h"
#include "profiler/analysis/compare/comparability.h"
#include "profiler/analysis/compare/run_figures.h"
#include "storage/model/run_facts.h"

#include <gmock/gmock.h>

#include <string>

namespace shardscope::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RecordingSummary runWith(const std::string& products, const std::string& attention,
                         const run::RunConfig& config = {}) {
    RecordingSummary summary;
    summary.run.configJson = run::toJson(config);
    for (std::int32_t rank = 0; rank < 2; ++rank) {
        summary.facts.push_back({toWord(Fact::kProducts), 0, rank, products});
        summary.facts.push_back({toWord(Fact::kAttention), 0, rank, attention});
    }
    summary.facts.push_back({toWord(Fact::kLoad), 0, -1, products});  // differs always
    return summary;
}

CoreUse without(double share) {
    CoreUse use;
    use.wall = {1'000'000};
    use.waited = {static_cast<std::int64_t>(share * 1'000'000)};
    return use;
}

Grounds groundsFor(double first, double second) {
    const RecordingSummary run = runWith("MKL", "flash");
    return groundsOf({&run, without(first)}, {&run, without(second)});
}

TEST(Grounds, AreThoseOfTheRunThatLackedMoreCores) {
    EXPECT_EQ(groundsFor(0.01, 0.02).time, TimeBasis::kAsRecorded);
    EXPECT_EQ(groundsFor(0.01, 0.04).time, TimeBasis::kRunning);
    EXPECT_EQ(groundsFor(0.29, 0).time, TimeBasis::kRunning);
    const Grounds none = groundsFor(0.49, 0.73);
    EXPECT_EQ(none.time, TimeBasis::kNone);
    EXPECT_TRUE(none.memory);
    EXPECT_THAT(none.timeReason, HasSubstr("49 % of the step time of the first run and 73 %"));
}

TEST(Grounds, AreNoneWhereOneRunLackedCoresAndNothingIsKnownOfTheOther) {
    const RecordingSummary run = runWith("MKL", "flash");
    EXPECT_EQ(groundsOf({&run, {}}, {&run, {}}).time, TimeBasis::kAsRecorded);
    EXPECT_EQ(groundsOf({&run, {}}, {&run, without(0.01)}).time, TimeBasis::kAsRecorded);
    const Grounds none = groundsOf({&run, {}}, {&run, without(0.1)});
    EXPECT_EQ(none.time, TimeBasis::kNone);
    EXPECT_THAT(none.timeReason, HasSubstr("an unknown part of the step time of the first run"));
}

TEST(Grounds, AreWholeOnDevicesWhichGoOnMeanwhile) {
    const RecordingSummary run = runWith("cuBLAS", "cudnn");
    CoreUse use = without(0.5);
    use.devices = true;
    EXPECT_EQ(groundsOf({&run, use}, {&run, use}).time, TimeBasis::kAsRecorded);
}

TEST(Grounds, OfSeveralBaselinesAreWhatAllLeave) {
    const RecordingSummary run = runWith("MKL", "flash"), other = runWith("oneDNN", "flash");
    Grounds all = groundsOf({&run, without(0.1)}, {&run, without(0)});
    all += groundsOf({&other, without(0)}, {&run, without(0)});
    EXPECT_EQ(all.time, TimeBasis::kNone);
    EXPECT_THAT(all.timeReason, HasSubstr("oneDNN / MKL"));
    EXPECT_FALSE(all.memory);
    all += groundsOf({&run, without(0)}, {&run, without(0)});
    EXPECT_EQ(all.time, TimeBasis::kNone);
    EXPECT_EQ(all.sentences.size(), 1u);
}

TEST(Grounds, AreWholeWhereTheDeviceDecidesWhatComputes) {
    run::RunConfig gpu;
    gpu.device = run::Device::kCuda;
    const RecordingSummary first = runWith("MKL", "flash"),
                           second = runWith("cuBLAS", "flash", gpu);
    // The first run could have chosen, the second could not.
    EXPECT_EQ(groundsOf({&second, {}}, {&second, {}}).time, TimeBasis::kAsRecorded);
    RecordingSummary other = second;
    other.facts.front().value = other.facts[2].value = "hipBLAS";
    EXPECT_EQ(groundsOf({&second, {}}, {&other, {}}).time, TimeBasis::kAsRecorded);
}

TEST(Grounds, AreNoneWhereRunsChoseOtherKernels) {
    const RecordingSummary first = runWith("MKL", "flash"), second = runWith("oneDNN", "flash");
    const Grounds grounds = groundsOf({&first, {}}, {&second, {}});
    EXPECT_EQ(grounds.time, TimeBasis::kNone);
    EXPECT_FALSE(grounds.memory);
    EXPECT_THAT(grounds.timeReason, HasSubstr("matrix products by MKL / oneDNN"));
    EXPECT_THAT(grounds.sentences, ElementsAre(HasSubstr("--products onednn")));
    EXPECT_THAT(comparabilityOf(first, second).warnings,
                testing::Contains(grounds.sentences.front()))
        << "said before any verdict";
}

TEST(Grounds, AreThereWhereOtherKernelsWereAskedFor) {
    run::RunConfig one, other;
    one.products = run::Products::kMkl;
    other.products = run::Products::kOneDnn;
    const RecordingSummary first = runWith("MKL", "flash", one),
                           second = runWith("oneDNN", "flash", other);
    const Grounds grounds = groundsOf({&first, {}}, {&second, {}});
    EXPECT_EQ(grounds.time, TimeBasis::kAsRecorded);
    EXPECT_THAT(grounds.sentences, ElementsAre(HasSubstr("They compute differently")));
}

RunFigure stepTimes(double wall, double running) {
    RunFigure figure{"step.time_ns", "ns", Better::kLower, {}, {}};
    for (int i = 0; i < 30; ++i) {
        figure.samples.push_back(wall + i % 3);
        figure.running.push_back(running + i % 3);
    }
    return figure;
}

TEST(Grounds, DecideWhatIsJudged) {
    const RunFigure first = stepTimes(1000, 900), second = stepTimes(1400, 905);
    EXPECT_EQ(differenceOf(first, second).verdict, Verdict::kRegressed);
    const Difference running = differenceOf(first, second, groundsFor(0.1, 0.28));
    EXPECT_EQ(running.verdict, Verdict::kNoChange);
    ASSERT_TRUE(running.judged);
    EXPECT_NEAR(running.judged->change, 5.0 / 901, 1e-6);
    EXPECT_NEAR(*running.change, 0.4, 1e-2) << "as recorded, still";
    const Difference none = differenceOf(first, second, groundsFor(0.5, 0.7));
    EXPECT_EQ(none.verdict, Verdict::kUnknown);
    EXPECT_THAT(none.reason, HasSubstr("cores were taken"));
    RunFigure bytes{"memory.peak_bytes", "bytes", Better::kLower, {}, 100};
    RunFigure more = bytes;
    more.whole = 110;
    EXPECT_EQ(differenceOf(bytes, more, groundsFor(0.5, 0.7)).verdict, Verdict::kRegressed);
    Grounds kernels;
    kernels.memory = false;
    kernels.memoryReason = "other kernels";
    EXPECT_EQ(differenceOf(bytes, more, kernels).verdict, Verdict::kUnknown);
    EXPECT_EQ(differenceOf(bytes, bytes, kernels).verdict, Verdict::kNoChange);
}

TEST(Grounds, DecideWhatAGateJudges) {
    const auto stateFor = [](const Grounds& grounds) {
        const auto results = checkGate({*parseGateRule("step.time_ns <= +5%")},
                                       {stepTimes(1000, 900)}, {stepTimes(1400, 905)}, grounds);
        EXPECT_TRUE(results);
        return results->front().state;
    };
    EXPECT_EQ(stateFor({}), GateState::kBroken);
    EXPECT_EQ(stateFor(groundsFor(0.1, 0.28)), GateState::kKept);
    const auto atMost = [](const char* rule, double baseline, double run) {
        const auto results =
            checkGate({*parseGateRule(rule)}, {stepTimes(1000, 900)}, {stepTimes(1400, 905)},
                      groundsFor(baseline, run), groundsFor(run, run));
        return results->front().state;
    };
    EXPECT_EQ(atMost("step.time_ns <= 1000", 0.1, 0.28), GateState::kUnknown)
        << "by the machine, perhaps";
    EXPECT_EQ(atMost("step.time_ns <= 2000", 0.1, 0.28), GateState::kKept);
    EXPECT_EQ(atMost("step.time_ns <= 2000", 0.1, 0.5), GateState::kKept) << "all the same";
    EXPECT_EQ(atMost("step.time_ns <= 1000", 0.5, 0), GateState::kBroken)
        << "of the baseline nothing is asked";
    EXPECT_EQ(stateFor(groundsFor(0.5, 0.7)), GateState::kUnknown);
}

}  // namespace
}  // namespace shardscope::analysis
