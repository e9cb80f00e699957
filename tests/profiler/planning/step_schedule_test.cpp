#include "profiler/planning/step_schedule.h"

#include "engine/run/theory/theory.h"
#include "engine/run/theory/working_sizes.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace shardscope::planning {
namespace {

using run::RunConfig;
using run::Strategy;

RunConfig configOf(Strategy strategy, std::int32_t ranks = 4) {
    RunConfig config;
    config.model = *run::findModelPreset("tiny");
    config.data = run::kSyntheticData;
    config.strategy = strategy;
    config.ranks = strategy == Strategy::kSingle ? 1 : ranks;
    return config;
}

std::vector<StepTask> lastOf(const RunConfig& config) {
    constexpr std::int32_t kSteps = 3;
    std::vector<StepTask> last;
    for (const StepTask& task : stepTasks(config, kSteps))
        if (task.step + 1 == kSteps) last.push_back(task);
    return last;
}

bool isGather(const StepTask& task) {
    return task.kind == StepTask::Kind::kAsk && task.operation == CollectiveOp::kAllGather &&
           task.cause != Cause::kGradient;
}

bool isReduction(const StepTask& task) {
    return task.kind == StepTask::Kind::kAsk && task.cause == Cause::kGradient;
}

/// Bytes that a rank sends by rings.
double sent(const RunConfig& config, const std::vector<StepTask>& tasks) {
    const double shard = theory::shardRanks(config);
    double bytes = 0;
    for (const StepTask& task : tasks) {
        if (task.kind != StepTask::Kind::kAsk || task.cause == Cause::kNorm) continue;
        const double ranks = task.among == Among::kShard ? shard : config.ranks / shard;
        const double passes = task.operation == CollectiveOp::kAllReduce ? 2 : 1;
        bytes += passes * static_cast<double>(task.size.count) * (ranks - 1) / ranks;
    }
    return bytes;
}

/// Every way in which strategies are told apart, by name.
std::map<std::string, RunConfig> variants() {
    std::map<std::string, RunConfig> all;
    for (const Strategy strategy : kAll<Strategy>) all[toWord(strategy)] = configOf(strategy);
    all["hsdp"].shardRanks = 2;
    const RunConfig zero3 = configOf(Strategy::kZero3);
    const auto vary = [&](const char* name, auto change) {
        RunConfig config = zero3;
        change(config);
        all[name] = config;
    };
    vary("zero3, four micro-steps", [](RunConfig& c) { c.accumulate = 4; });
    vary("zero3, gathered stay", [](RunConfig& c) { c.accumulate = 3, c.keepGathered = true; });
    vary("zero3, gradients stay", [](RunConfig& c) { c.accumulate = 3, c.keepGradients = true; });
    vary("zero3, not resharded", [](RunConfig& c) { c.reshardAfterForward = false; });
    vary("zero3, no prefetch", [](RunConfig& c) { c.prefetch = 0; });
    vary("zero3, far prefetch", [](RunConfig& c) { c.prefetch = 5; });
    vary("zero3, recomputed", [](RunConfig& c) { c.recomputeEvery = 2; });
    vary("zero3, bf16", [](RunConfig& c) { c.precision = run::Precision::kBFloat16; });
    vary("zero3, pieces", [](RunConfig& c) { c.vocabularyPieces = 3; });
    vary("zero3, own head", [](RunConfig& c) { c.model.tieHead = false; });
    vary("zero3, own head in pieces",
         [](RunConfig& c) { c.model.tieHead = false, c.vocabularyPieces = 4, c.accumulate = 2; });
    all["zero2, micro-steps"] = configOf(Strategy::kZero2);
    all["zero2, micro-steps"].accumulate = 3;
    all["buckets of a hundredth"] = configOf(Strategy::kDdpBucket);
    all["buckets of a hundredth"].bucketMegabytes = 0.01;
    all["hsdp, micro-steps"] = all["hsdp"];
    all["hsdp, micro-steps"].accumulate = 2;
    return all;
}

class StepSchedule : public testing::TestWithParam<std::pair<const std::string, RunConfig>> {
protected:
    const RunConfig config = GetParam().second;
    const std::vector<StepTask> tasks = lastOf(config);
    const theory::StepContents contents = theory::stepContents(config);
};

TEST_P(StepSchedule, GathersReducesAndComputesAsTheTheorySays) {
    ASSERT_TRUE(run::validate(config)) << run::validate(config).error().message;
    EXPECT_EQ(std::count_if(tasks.begin(), tasks.end(), isGather), contents.gathers);
    EXPECT_EQ(std::count_if(tasks.begin(), tasks.end(), isReduction), contents.reductions);
    const auto phases = std::count_if(tasks.begin(), tasks.end(), [](const StepTask& task) {
        return task.kind == StepTask::Kind::kCompute && isWork(task.phase) && !task.continues;
    });
    EXPECT_EQ(phases, contents.phases);
}

TEST_P(StepSchedule, SendsTheBytesOfTheTheoryAndItsPadding) {
    const auto theory = static_cast<double>(theory::trafficPerStep(config).count);
    const double bytes = sent(config, tasks);
    EXPECT_GE(bytes, theory * 0.9999);
    EXPECT_LE(bytes, theory * 1.01 + 1);
}

TEST_P(StepSchedule, WaitsOnlyForWhatWasAskedForAndForAllOfAStep) {
    std::set<std::uint32_t> asked, awaited;
    for (const StepTask& task : stepTasks(config, 2)) {
        if (task.kind == StepTask::Kind::kAsk) {
            EXPECT_TRUE(asked.insert(task.collective).second);
            if (task.step == 0) awaited.insert(task.collective);
        }
        if (task.kind == StepTask::Kind::kWait) {
            EXPECT_TRUE(asked.contains(task.collective));
            awaited.erase(task.collective);
        }
    }
    // What comes before on the same link is there when what comes after it is.
    const bool inOrder =
        config.strategy != Strategy::kDdpNaive && config.strategy != Strategy::kDdpOverlap &&
        config.strategy != Strategy::kDdpFlat && config.strategy != Strategy::kDdpBucket;
    EXPECT_TRUE(inOrder || awaited.empty());
}

TEST_P(StepSchedule, EveryRankUpdatesItsPart) {
    std::int64_t updated = 0, normed = 0;
    for (const StepTask& task : tasks) {
        if (task.phase == Phase::kOptimizer) updated += task.elements;
        if (task.phase == Phase::kClip) normed += task.elements;
    }
    const bool whole = theory::stateTheory(config).count >=
                       16 * theory::parameterCount(config.model);  // nothing is divided
    const auto share = static_cast<double>(theory::parameterCount(config.model)) /
                       (whole ? 1 : theory::shardRanks(config));
    EXPECT_NEAR(static_cast<double>(updated) / share, 1, 0.02);
    const double part =
        static_cast<double>(theory::parameterCount(config.model)) / theory::shardRanks(config);
    EXPECT_NEAR(static_cast<double>(normed) / part, 1, 0.02);
}

INSTANTIATE_TEST_SUITE_P(Of, StepSchedule, testing::ValuesIn(variants()), [](const auto& each) {
    std::string name;
    for (const char c : each.param.first)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
    return name;
});

std::string told(const std::vector<StepTask>& tasks, LayerIndex layer) {
    std::string text;
    for (const StepTask& task : tasks) {
        if (task.layer != layer) continue;
        if (task.kind == StepTask::Kind::kCompute) text += std::string(toWord(task.phase)) + "; ";
        if (task.kind == StepTask::Kind::kAsk)
            text += std::string(toWord(task.operation)) + " for " + toWord(task.cause) + "; ";
        if (task.kind == StepTask::Kind::kWait) text += std::string(toWord(task.phase)) + "; ";
    }
    return text;
}

TEST(StepSchedule, AMiddleBlockOfZero3IsFetchedAheadTwice) {
    RunConfig config = configOf(Strategy::kZero3);
    config.model.layers = 4;
    EXPECT_EQ(
        told(lastOf(config), LayerIndex{2}),
        "all-gather for prefetch; wait for gather; forward; all-gather for prefetch; wait for "
        "gather; wait for reduction; backward; reduce-scatter for gradient; ");
}

TEST(StepSchedule, AMiddleBlockOfZero1IsGatheredBehindItsUpdate) {
    RunConfig config = configOf(Strategy::kZero1);
    config.model.layers = 4;
    EXPECT_EQ(
        told(lastOf(config), LayerIndex{2}),
        "wait for gather; forward; wait for reduction; backward; reduce-scatter for gradient; "
        "all-gather for update; ");
}

}  // namespace
}  // namespace shardscope::planning
