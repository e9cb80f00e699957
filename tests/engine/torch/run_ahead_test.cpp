// Ranks of a device that run ahead of their results: the same training, told one step later.
#include "engine/training/schedule.h"
#include "tests/engine/torch/tiny_run.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

namespace shardscope::training {
namespace {

constexpr int kRanks = 2;

struct Outcome {
    StepResults results;             ///< of rank 0, as they came
    std::vector<std::size_t> calls;  ///< results by call
    Progress progress;
    std::map<std::string, at::Tensor> weights;
    std::optional<StepPosition> found;  ///< where something was not finite
};

struct Plan {
    run::RunConfig config;
    std::int32_t steps = 4;
    bool ahead = false;
    using Wish = std::function<bool(std::int32_t step, int rank)>;
    Wish stops = {}, changes = {};
};

run::RunConfig config(run::Strategy strategy = run::Strategy::kZero3) {
    run::RunConfig config = test::tinyRun(strategy, kRanks);
    config.accumulate = 3;
    config.steps = 100;
    return config;
}

/// As TrainingRun goes: until a step fails or the run is to stop.
Outcome train(const Plan& plan) {
    Outcome outcome;
    std::mutex mutex;
    test::runNcclRanks(kRanks, [&](comm::Communicator& c) {
        test::FakeDevice device;
        test::TinyRank rank(plan.config, c);
        BatchSource batches = rank.batches();
        Trainer trainer(rank.config, at::kCPU, rank.model, *rank.partitioning, c, batches, nullptr,
                        plan.ahead ? &device : nullptr);
        StepResults all;
        std::vector<std::size_t> calls;
        bool stop = false;
        for (std::int32_t step = 0; step < plan.steps && !stop; ++step) {
            const bool last = step + 1 == plan.steps;
            const auto results = trainer.step(step, plan.stops && plan.stops(step, c.rank()),
                                              last ? AfterStep::kPause : AfterStep::kAnotherStep,
                                              plan.changes && plan.changes(step, c.rank()));
            ASSERT_TRUE(results) << results.error().message;
            calls.push_back(results->size());
            for (const StepResult& result : *results) {
                all.push_back(result);
                stop = stop || result.stop || result.failed();
                if (result.failed()) break;
            }
        }
        std::optional<StepPosition> found;
        if (!all.empty() && all.back().failed()) {
            const auto place = trainer.findNonFinite(trainer.place().step);
            ASSERT_TRUE(place) << place.error().message;
            found = *place;
        }
        std::map<std::string, at::Tensor> weights;
        rank.partitioning->visit([&](const kernels::Parameter& p, const at::Tensor& value) {
            weights[p.name] = value.clone();
        });
        const std::lock_guard lock(mutex);
        if (c.rank() != 0) return;
        outcome = {all, calls, trainer.progress(), weights, found};
    });
    return outcome;
}

void expectSame(const Outcome& found, const Outcome& expected) {
    ASSERT_EQ(found.results.size(), expected.results.size());
    for (std::size_t i = 0; i < found.results.size(); ++i) {
        EXPECT_EQ(found.results[i].step, expected.results[i].step);
        EXPECT_EQ(found.results[i].loss, expected.results[i].loss);
        EXPECT_EQ(found.results[i].gradientNorm, expected.results[i].gradientNorm);
        EXPECT_EQ(found.results[i].learningRate, expected.results[i].learningRate);
    }
    EXPECT_EQ(found.progress.updates, expected.progress.updates);
    EXPECT_EQ(found.progress.nextStep, expected.progress.nextStep);
    ASSERT_EQ(found.weights.size(), expected.weights.size());
    for (const auto& [name, value] : expected.weights)
        EXPECT_TRUE(at::equal(found.weights.at(name), value)) << name;
}

class RunAhead : public testing::TestWithParam<run::Strategy> {};

TEST_P(RunAhead, TrainsAsIfTheHostHadWaitedForEachStep) {
    Plan plan{config(GetParam())};
    plan.config.clip = 0.5;
    const Outcome waited = train(plan);
    plan.ahead = true;
    const Outcome ahead = train(plan);
    expectSame(ahead, waited);
    EXPECT_EQ(waited.calls, (std::vector<std::size_t>{1, 1, 1, 1}));
    EXPECT_EQ(ahead.calls, (std::vector<std::size_t>{0, 1, 1, 2}));
}

INSTANTIATE_TEST_SUITE_P(All, RunAhead,
                         testing::Values(run::Strategy::kDdpBucket, run::Strategy::kZero1,
                                         run::Strategy::kZero2, run::Strategy::kZero3),
                         [](const auto& strategy) {
                             std::string name = toWord(strategy.param);
                             std::erase(name, '-');
                             return name;
                         });

TEST(RunAheadOfAStop, EndsOneStepLater) {
    Plan plan{config(), 9};
    plan.stops = [](std::int32_t step, int rank) { return step >= 2 && rank == 1; };
    EXPECT_EQ(train(plan).progress.nextStep, 3);
    plan.ahead = true;
    const Outcome ahead = train(plan);
    EXPECT_EQ(ahead.progress.nextStep, 4) << "the step behind was queued already, and counts";
    EXPECT_EQ(ahead.calls, (std::vector<std::size_t>{0, 1, 1, 2}));
    plan.ahead = false;
    plan.stops = nullptr;
    plan.steps = 4;
    expectSame(ahead, train(plan));
}

TEST(RunAheadOfAChange, MakesItOnceWhenAllAskForIt) {
    Plan plan{config(), 6, true};
    // Rank 1 has heard of it later; both ask until it is made, so the step behind asks once more.
    plan.changes = [](std::int32_t step, int rank) { return step >= 1 + rank && step <= 3; };
    std::vector<bool> changes;
    for (const StepResult& result : train(plan).results) changes.push_back(result.change);
    EXPECT_EQ(changes, (std::vector<bool>{false, false, true, false, false, false}));
}

/// The first update makes numbers of weights that overflow in the next forward.
TEST(RunAheadOfAFailure, LeavesTheWeightsAsTheyWereBeforeIt) {
    Plan plan{config(), 6};
    plan.config.learningRate = std::numeric_limits<float>::max();
    plan.config.warmupSteps = 0;
    plan.config.clip = 0;
    const Outcome waited = train(plan);
    plan.ahead = true;
    const Outcome ahead = train(plan);
    ASSERT_TRUE(waited.results.back().failed());
    ASSERT_TRUE(ahead.results.back().failed());
    EXPECT_EQ(ahead.results.back().step, waited.results.back().step);
    EXPECT_EQ(ahead.progress.updates, waited.progress.updates);
    ASSERT_TRUE(waited.found && ahead.found);
    EXPECT_EQ(ahead.found->step, waited.found->step);
    EXPECT_EQ(ahead.found->microStep, waited.found->microStep);
    EXPECT_EQ(ahead.found->layer, waited.found->layer);
    for (const auto& [name, value] : waited.weights)
        EXPECT_TRUE(at::equal(ahead.weights.at(name), value)) << name;
}

TEST(RunAheadInFp16, HalvesTheLossScaleOnceForStepsOfOneScale) {
    Plan plan{config(), 80, true};
    plan.config.precision = run::Precision::kFloat16;
    plan.config.lossScale = 1e9;
    const Outcome ahead = train(plan);
    ASSERT_EQ(ahead.results.size(), 80u);
    EXPECT_TRUE(ahead.results[0].skipped);
    EXPECT_TRUE(ahead.results[1].skipped) << "queued with the same scale";
    EXPECT_EQ(ahead.results[1].lossScale, ahead.results[0].lossScale);
    EXPECT_EQ(ahead.results[2].lossScale, ahead.results[0].lossScale / 2);
    EXPECT_EQ(ahead.results[3].lossScale, ahead.results[0].lossScale / 2);
    EXPECT_FALSE(ahead.results.back().skipped);
    std::int64_t applied = 0;
    for (const StepResult& result : ahead.results) applied += result.skipped ? 0 : 1;
    EXPECT_EQ(ahead.progress.updates, applied);
    EXPECT_GT(applied, 5);
}

TEST(RunAheadAfterResuming, CountsUpdatesOnFromThere) {
    std::vector<double> updates(2);
    test::runNcclRanks(kRanks, [&](comm::Communicator& c) {
        test::FakeDevice device;
        test::TinyRank rank(config(), c);
        Trainer trainer(rank.config, at::kCPU, rank.model, *rank.partitioning, c, rank.batches(),
                        nullptr, &device);
        Progress progress;
        progress.nextStep = 7;
        progress.updates = 6;
        trainer.resume(progress);
        ASSERT_TRUE(trainer.step(7, false, AfterStep::kPause));
        updates[static_cast<std::size_t>(c.rank())] =
            static_cast<double>(trainer.progress().updates);
    });
    EXPECT_EQ(updates, (std::vector<double>{7, 7}));
}

run::RunConfig run(run::Schedule schedule) {
    run::RunConfig config;
    config.schedule = schedule;
    config.steps = 110;
    config.warmupSteps = 10;
    config.learningRate = 1e-3;
    config.minimumLearningRate = 1e-4;
    return config;
}

constexpr run::Schedule kAll[] = {run::Schedule::kCosine, run::Schedule::kLinear,
                                  run::Schedule::kConstant};

TEST(Schedule, WarmsUpInEqualSteps) {
    for (const run::Schedule schedule : kAll) {
        const run::RunConfig config = run(schedule);
        for (int step = 0; step < 10; ++step)
            EXPECT_DOUBLE_EQ(learningRate(config, step), 1e-4 * (step + 1));
        EXPECT_DOUBLE_EQ(learningRate(config, 10), 1e-3);
    }
}

TEST(Schedule, GoesDownAsItsNameSays) {
    const auto at = [](run::Schedule schedule, std::int32_t step) {
        return learningRate(run(schedule), step);
    };
    EXPECT_DOUBLE_EQ(at(run::Schedule::kCosine, 60), 5.5e-4);
    EXPECT_DOUBLE_EQ(at(run::Schedule::kLinear, 60), 5.5e-4);
    EXPECT_DOUBLE_EQ(at(run::Schedule::kLinear, 35), 7.75e-4);
    // A quarter of the way a cosine has lost (1 - sqrt(1/2)) / 2 of its height.
    EXPECT_NEAR(at(run::Schedule::kCosine, 35), 1e-3 - 9e-4 * 0.1464466, 1e-9);
    EXPECT_DOUBLE_EQ(at(run::Schedule::kConstant, 60), 1e-3);
    EXPECT_DOUBLE_EQ(at(run::Schedule::kConstant, 5000), 1e-3);
    for (const run::Schedule schedule : {run::Schedule::kCosine, run::Schedule::kLinear}) {
        for (int step = 11; step < 110; ++step) {
            EXPECT_LT(at(schedule, step), at(schedule, step - 1));
            EXPECT_GT(at(schedule, step), 1e-4);
        }
        EXPECT_NEAR(at(schedule, 110), 1e-4, 1e-18);
        EXPECT_NEAR(at(schedule, 5000), 1e-4, 1e-18);
    }
}

TEST(Schedule, TakesRunsThatAreAllWarmUp) {
    run::RunConfig config = run(run::Schedule::kLinear);
    config.steps = 5;
    EXPECT_DOUBLE_EQ(learningRate(config, 4), 5e-4);
    config.warmupSteps = 0;
    EXPECT_DOUBLE_EQ(learningRate(config, 0), 1e-3);
}

}  // namespace
}  // namespace shardscope::training
