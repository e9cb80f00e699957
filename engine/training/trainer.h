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
#include "engine/data/dataset.h"
#include "engine/gpt/gpt.h"
#include "engine/parallel/partitioning.h"
#include "engine/parallel/tensor_group.h"
#include "engine/run/config/run_config.h"
#include "engine/training/batch_staging.h"
#include "engine/training/micro_step_graphs.h"
#include "engine/training/outer_layers.h"
#include "engine/training/step_settlement.h"
#include "storage/model/result.h"

#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace shardscope::training {

/// Where batches come from: text, or a numeric reference.
struct BatchSource {
    std::function<data::Batch(std::int32_t step, std::int32_t microStep)> training;
    std::function<data::Batch(std::int32_t index)> validation;  ///< may be empty
    std::int64_t stepTokens = 0;  ///< of one step, over all ranks and micro-steps
};

struct StepResult {
    std::int32_t step = 0;
    double loss = 0;          ///< mean over all ranks and micro-steps, nats a token
    double gradientNorm = 0;  ///< before clipping
    double learningRate = 0;
    bool stop = false;         ///< some rank was asked to stop; all ranks see it
    bool change = false;       ///< every rank has a change waiting; all ranks see it
    bool skipped = false;      ///< fp16: a gradient overflowed, weights stay as they were
    double lossScale = 1;      ///< fp16: that this step was computed with
    std::int64_t knownNs = 0;  ///< host clock at which this was known

    /// Nothing was updated, and nothing will be.
    [[nodiscard]] bool failed() const {
        return !skipped && !(std::isfinite(loss) && std::isfinite(gradientNorm));
    }
};
/// In order.
using StepResults = std::vector<StepResult>;

/// What a resumed run needs to know besides the partitioning's state.
struct Progress {
    std::int32_t nextStep = 0;
    std::int64_t updates = 0;  ///< of the optimizer; skipped steps are none
    LossScale lossScale;
};

/// Where training was when it failed.
struct StepPosition {
    std::int32_t step = -1;
    std::int32_t microStep = -1;  ///< -1: none in particular
    Phase phase = Phase::kNone;
    LayerIndex layer = kNoLayer;
    std::int32_t waitedFor = -1;  ///< the rank that this one waited for in vain; -1: none
    bool hearsay = false;         ///< it only heard that another one gave up or is gone
};

/// What follows a step at once.
enum class AfterStep : std::uint8_t {
    kAnotherStep,
    kPause,  ///< an evaluation, a checkpoint, the end
};

class Trainer {
public:
    /// All references outlive the trainer; `observer` may be null. With `runtime`, of the device,
    /// the host queues a step while the device computes the one before. `tensor`: the ranks
    /// that share layers, null: they are whole; `communicator` is that of all ranks.
    Trainer(const run::RunConfig& config, at::Device device, gpt::Gpt& model,
            parallel::Partitioning& partitioning, comm::Communicator& communicator,
            BatchSource batches, control::Observer* observer,
            control::DeviceRuntime* runtime = nullptr, parallel::TensorRanks* tensor = nullptr);

    /// One optimizer step; steps follow each other. What is known by then: this step's result, or
    /// where it runs ahead that of the step before; both before a pause and once all ranks know
    /// that the run is to stop. `stopWanted`: this rank was asked to stop after it; `changeWaits`:
    /// to change something between two steps, which all ranks do at once.
    Result<StepResults> step(std::int32_t step, bool stopWanted, AfterStep next,
                             bool changeWaits = false);
    /// Whether what step() queues is reported by the next call.
    [[nodiscard]] bool runsAhead() const { return m_settlement.runsAhead(); }
    /// Whether a step was queued whose result is to come.
    [[nodiscard]] bool owesResult() const { return !m_queued.empty(); }

    /// Mean validation loss over all ranks, outside any step. Where one of them is asked to stop
    /// meanwhile all end before the next batch (kCancelled).
    Result<double> evaluate(const std::function<bool()>& stopWanted = {});

    [[nodiscard]] const StepPosition& place() const { return m_place; }

    /// After a step whose loss is not finite: runs its forward again on all ranks and looks for
    /// the first output that is not finite on any of them. microStep -1: none was found.
    Result<StepPosition> findNonFinite(std::int32_t step);

    [[nodiscard]] const Progress& progress() const { return m_progress; }
    /// Before the first step.
    void resume(const Progress& progress);

private:
    [[nodiscard]] tl::unexpected<Error> failed(const std::exception& error);
    /// A step whose result is on its way.
    struct Queued {
        std::int32_t step = 0;
        double learningRate = 0;
        double lossScale = 1;
        bool changeCounts = true;  ///< false: asked for before the last change was made
    };

    StepResults runStep(std::int32_t step, bool stopWanted, AfterStep next, bool changeWaits);
    void queueStep(std::int32_t step, bool stopWanted, bool changeWaits);
    [[nodiscard]] kernels::UpdateRule updateRule(const Queued& queued) const;
    void update(bool another);
    StepResults settleAhead(AfterStep next);
    StepResults settleAtOnce(AfterStep next);
    StepResult settle();
    void noteFailure(const StepResult& result);
    std::optional<double> runEvaluation(const std::function<bool()>& stopWanted);
    bool anyWants(const std::function<bool()>& stop);
    StepPosition runSearch(std::int32_t step);
    void releaseAll();
    void microStep(std::int32_t step, std::int32_t index);
    /// Adds its cross entropy to that of the step.
    void compute(const data::Batch& batch, bool last);
    [[nodiscard]] BatchStaging::Staged takeBatch(std::int32_t step, std::int32_t index);
    [[nodiscard]] data::Batch onDevice(const data::Batch& batch) const;
    at::Tensor forward(const data::Batch& batch);
    void backward(const data::Batch& batch, at::Tensor dx);
    [[nodiscard]] std::size_t unitOf(std::int64_t block) const;
    void prefetch(std::int64_t after);
    /// Of ranks that share layers one counts tokens and loss.
    [[nodiscard]] bool answers() const { return m_tensor == nullptr || m_tensor->rank() == 0; }
    control::PhaseScope phase(Phase phase, LayerIndex layer);
    void placeExchanges(Cause cause, LayerIndex layer);
    [[nodiscard]] bool recomputes(std::int64_t block) const;
    at::Tensor forwardBlock(std::int64_t block, const at::Tensor& x, std::int64_t rows);
    at::Tensor backwardBlock(std::int64_t block, const at::Tensor& dx, std::int64_t rows);

    /// What a block's backward needs: its detached input and its output, which is made again
    /// where activations are recomputed.
    struct Segment {
        at::Tensor input, output;  // (N, C)
    };

    const run::RunConfig& m_config;
    const at::Device m_device;
    gpt::Gpt& m_model;
    parallel::Partitioning& m_partitioning;
    comm::Communicator& m_communicator;
    BatchSource m_batches;
    control::Observer* m_observer;
    control::DeviceRuntime* const m_runtime;  ///< null: nothing is queued ahead
    parallel::TensorRanks* const m_tensor;    ///< null: layers are whole
    StepSettlement m_settlement;
    std::optional<BatchStaging> m_staging;    ///< with a runtime
    std::deque<Queued> m_queued;              ///< not settled yet
    std::optional<MicroStepGraphs> m_graphs;  ///< where they are asked for
    OuterLayers m_outer;
    std::vector<Segment> m_segments;                            ///< by block
    std::function<void(LayerIndex, const at::Tensor&)> m_look;  ///< at outputs; of a search
    StepPosition m_place;
    Progress m_progress;
};

}  // namespace shardscope::training
