// The step loop. Forward and backward are plain loops over units, in which every prefetch,
// wait, free and reduction is a line of code and an event in the recording:
//
//   fetch(i+1); wait(i); compute(i); release(i)
//
// Each block is an autograd graph of its own; what crosses a block boundary is a detached
// activation. Lives on the step thread. Exceptions end here and become Errors.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/control/observer.h"
#include "engine/control/run_config.h"
#include "engine/data/dataset.h"
#include "engine/gpt/gpt.h"
#include "engine/parallel/partitioning.h"
#include "storage/model/result.h"

#include <cstdint>
#include <functional>

namespace shardscope::training {

/// Where batches come from: text, or a numeric reference.
struct BatchSource {
    std::function<data::Batch(std::int32_t step, std::int32_t microStep)> training;
    std::function<data::Batch(std::int32_t index)> validation;  ///< may be empty
    std::int64_t globalTokens = 0;  ///< of one micro-step, over all ranks
};

struct StepResult {
    double loss = 0;          ///< mean over all ranks and micro-steps, nats a token
    double gradientNorm = 0;  ///< before clipping
    double learningRate = 0;
    bool stop = false;  ///< some rank was asked to stop; all ranks see it
};

/// Where training was when it failed.
struct Place {
    std::int32_t step = -1;
    Phase phase = Phase::kNone;
    LayerIndex layer = kNoLayer;
};

class Trainer {
public:
    /// All references outlive the trainer; `observer` may be null.
    Trainer(const control::RunConfig& config, at::Device device, gpt::Gpt& model,
            parallel::Partitioning& partitioning, comm::Communicator& communicator,
            BatchSource batches, control::Observer* observer);

    /// One optimizer step. `stopWanted`: this rank was asked to stop after it.
    Result<StepResult> step(std::int32_t step, bool stopWanted);

    /// Mean validation loss over all ranks, outside any step.
    Result<double> evaluate();

    [[nodiscard]] const Place& place() const { return m_place; }

private:
    StepResult runStep(std::int32_t step, bool stopWanted);
    double runEvaluation();
    /// Adds the micro-step's cross entropy to `loss`.
    void microStep(std::int32_t step, std::int32_t index, const at::Tensor& loss);
    [[nodiscard]] data::Batch onDevice(const data::Batch& batch) const;
    at::Tensor forward(const data::Batch& batch);
    void backward(const data::Batch& batch, at::Tensor dx);
    void prefetch(std::int64_t after);
    control::PhaseScope phase(Phase phase, LayerIndex layer);

    /// What a block's backward needs: its detached input and its output.
    struct Segment {
        at::Tensor input, output;  // (N, C)
    };

    const control::RunConfig& m_config;
    const at::Device m_device;
    gpt::Gpt& m_model;
    parallel::Partitioning& m_partitioning;
    comm::Communicator& m_communicator;
    BatchSource m_batches;
    control::Observer* m_observer;
    std::vector<Segment> m_segments;  ///< by block
    Place m_place;
};

}  // namespace shardscope::training
