// A tiny run in threads whose phases and collectives are counted.
#pragma once

#include "engine/run/config/rank_layout.h"
#include "engine/run/theory/theory.h"
#include "engine/training/session.h"
#include "tests/engine/torch/rank_threads.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

namespace shardscope::test {

/// Counts what a step reports.
class Counter final : public control::Observer {
public:
    void stepBegin(std::int32_t) override {}
    void stepEnd(const control::StepReport&) override {}
    void phaseBegin(Phase, LayerIndex) override {}
    void phaseEnd(const control::PhaseReport& report) override {
        const std::lock_guard lock(m_mutex);
        const bool counted = report.phase == Phase::kForward || report.phase == Phase::kHead ||
                             report.phase == Phase::kBackward || report.phase == Phase::kClip ||
                             report.phase == Phase::kRecompute || report.phase == Phase::kOptimizer;
        if (counted) ++contents.phases;
    }
    void collective(const control::CollectiveReport& report) override {
        const std::lock_guard lock(m_mutex);
        const bool gathered = report.cause == Cause::kDemand || report.cause == Cause::kPrefetch ||
                              report.cause == Cause::kUpdate;
        if (gathered) ++contents.gathers;
        if (report.cause == Cause::kGradient) ++contents.reductions;
        if (isExchange(report.cause)) ++contents.exchanges;
        if (!gathered && report.cause != Cause::kGradient && !isExchange(report.cause)) return;
        const bool twice = report.operation == CollectiveOp::kAllReduce;
        sizes[report.group] += (twice ? 2 : 1) * report.sizeBytes;
    }
    void buffer(const control::BufferReport&) override {}
    void metric(control::Metric, std::int32_t, double) override {}
    theory::StepContents contents;
    /// By group; all-reduces count twice: a reduce-scatter and a gather.
    std::map<std::uint32_t, std::int64_t> sizes;
    /// Bytes that went over the link, each group's by its ring factor.
    [[nodiscard]] std::int64_t moved(const run::RunConfig& config) const {
        std::int64_t bytes = 0;
        for (const auto& [group, size] : sizes) {
            // The first groups are those of hsdp that share a state, or tensor groups.
            const std::int64_t near =
                config.tensor > 1 ? config.tensor : theory::shardRanks(config);
            const std::int64_t groups = config.ranks / near;
            const std::int64_t ranks = group == 0 ? config.ranks : group <= groups ? near : groups;
            bytes += size * (ranks - 1) / ranks;
        }
        return bytes;
    }

private:
    std::mutex m_mutex;
};

inline run::RunConfig tinyRun(int ranks) {
    run::RunConfig config;
    config.model = *run::findModelPreset("tiny");
    config.ranks = ranks;
    config.batch = 2;
    config.accumulate = 2;
    config.steps = 3;
    return config;
}

inline data::Batch patternBatch(const run::RunConfig& config, std::int32_t step, int rank) {
    data::Batch batch{at::empty({config.batch, config.model.context}, at::kLong),
                      at::empty({config.batch * config.model.context}, at::kLong)};
    for (std::int64_t i = 0; i < batch.tokens.numel(); ++i) {
        batch.tokens.data_ptr<std::int64_t>()[i] = (i * 5 + step + rank) % 64;
        batch.targets.data_ptr<std::int64_t>()[i] = (i * 5 + 5 + step + rank) % 64;
    }
    return batch;
}

inline std::vector<double> trainTiny(const run::RunConfig& config, std::vector<Counter>* counters) {
    std::vector<double> losses;
    auto segment = comm::Segment::anonymous(std::size_t{64} << 20, config.ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < config.ranks; ++rank) {
        threads.emplace_back([&, rank] {
            control::Observer* observer =
                counters == nullptr ? nullptr : &(*counters)[static_cast<std::size_t>(rank)];
            const auto c = comm::makeDirectCommunicator(*segment, rank, observer, "threads");
            const training::RankGroups groups(config, at::kCPU, *c, observer);
            gpt::Gpt model(config, groups.tensor());
            const auto partitioning =
                training::makePartitioning(config, training::placementOf(config, at::kCPU, rank),
                                           model, groups.data(), observer);
            partitioning->load([&](const kernels::Parameter& p) {
                return gpt::initialValue(p, config.model, config.seed);
            });
            training::BatchSource batches;
            batches.stepTokens = theory::tokensPerStep(config);
            batches.training = [&](std::int32_t step, std::int32_t) {
                return patternBatch(config, step, run::placeOf(config, rank).replica);
            };
            training::Trainer trainer(config, at::kCPU, model, *partitioning, *c, batches, observer,
                                      nullptr, groups.tensor());
            for (std::int32_t step = 0; step < config.steps; ++step) {
                const auto result =
                    trainer.step(step, false,
                                 step + 1 < config.steps ? training::AfterStep::kAnotherStep
                                                         : training::AfterStep::kPause);
                ASSERT_TRUE(result) << result.error().message;
                if (rank == 0) losses.push_back(result->front().loss);
            }
            c->barrier({}).wait();
        });
    }
    for (auto& thread : threads) thread.join();
    return losses;
}

/// Runs it and compares what every rank reported with theory: to the byte, so that no buffer may
/// be padded.
inline void expectWhatTheorySays(const run::RunConfig& config) {
    std::vector<Counter> counters(static_cast<std::size_t>(config.ranks));
    trainTiny(config, &counters);
    for (std::size_t rank = 0; rank < counters.size(); ++rank) {
        const Counter& counter = counters[rank];
        const auto expected = theory::stepContents(
            config, run::placeOf(config, static_cast<std::int32_t>(rank)).tensor);
        EXPECT_EQ(counter.contents.exchanges, config.steps * expected.exchanges);
        EXPECT_EQ(counter.contents.gathers, config.steps * expected.gathers);
        EXPECT_EQ(counter.contents.reductions, config.steps * expected.reductions);
        EXPECT_EQ(counter.contents.phases, config.steps * expected.phases);
        EXPECT_EQ(counter.moved(config), config.steps * theory::trafficPerStep(config).count);
    }
}

}  // namespace shardscope::test
