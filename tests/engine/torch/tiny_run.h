// A model of a few thousand parameters on some ranks, for tests of what trains or reads it.
#pragma once

#include "engine/training/session.h"
#include "tests/engine/torch/rank_threads.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

namespace shardscope::test {

inline run::RunConfig tinyRun(run::Strategy strategy, int ranks) {
    run::RunConfig config;
    config.model = *run::findModelPreset("tiny");
    config.strategy = strategy;
    config.ranks = ranks;
    config.batch = 2;
    config.steps = 1;
    return config;
}

/// A rank of a run with everything but the trainer.
struct TinyRank {
    TinyRank(const run::RunConfig& run, comm::Communicator& c, control::Observer* observer,
             const parallel::Placement& placement)
        : config(run),
          communicator(c),
          model(run),
          partitioning(training::makePartitioning(run, placement, model, c, observer)) {
        partitioning->load([&](const kernels::Parameter& p) {
            return gpt::initialValue(p, run.model, run.seed) * 8;  // far from uniform
        });
    }
    TinyRank(const run::RunConfig& run, comm::Communicator& c,
             control::Observer* observer = nullptr)
        : TinyRank(run, c, observer, training::placementOf(run, at::kCPU)) {}

    [[nodiscard]] training::BatchSource batches() const {
        training::BatchSource source;
        source.stepTokens = config.batch * config.model.context * config.ranks * config.accumulate;
        source.training = [this](std::int32_t step, std::int32_t) {
            const std::int64_t n = config.batch * config.model.context;
            const at::Tensor all = (at::arange(n + 1, at::kLong) * 5 + step + communicator.rank())
                                       .remainder(config.model.vocabulary);
            return data::Batch{all.narrow(0, 0, n).view({config.batch, config.model.context}),
                               all.narrow(0, 1, n).contiguous()};
        };
        return source;
    }

    const run::RunConfig config;
    comm::Communicator& communicator;
    gpt::Gpt model;
    std::unique_ptr<parallel::Partitioning> partitioning;
};

}  // namespace shardscope::test
