#include "engine/training/verification.h"

#include "engine/run/config/rank_layout.h"
#include "engine/run/theory/theory.h"
#include "engine/training/session.h"
#include "engine/training/trainer.h"

#include <array>
#include <cmath>

namespace shardscope::training {
namespace {

double relativeError(double value, double expected) {
    return std::abs(value - expected) / std::abs(expected);
}

/// ||value - expected|| / ||expected|| in the 2-norm, summed in double precision.
double relativeError(const at::Tensor& value, const at::Tensor& expected) {
    const at::Tensor flat = value.cpu().contiguous();
    const float* a = flat.const_data_ptr<float>();
    const float* b = expected.const_data_ptr<float>();
    double difference = 0;
    double norm = 0;
    for (std::int64_t i = 0; i < expected.numel(); ++i) {
        const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        difference += d * d;
        norm += static_cast<double>(b[i]) * static_cast<double>(b[i]);
    }
    return std::sqrt(difference / norm);
}

}  // namespace

Result<run::VerifyResult> verify(const data::Reference& reference, const run::RunConfig& config,
                                 at::Device device, comm::Communicator& communicator,
                                 control::Observer* observer) {
    const int rank = communicator.rank();
    const RankGroups groups(config, device, communicator, observer);
    gpt::Gpt model(config, groups.tensor());
    const auto partitioning =
        makePartitioning(config, placementOf(config, device, rank), model, groups.data(), observer);
    partitioning->load([&](const kernels::Parameter& p) { return reference.initial(p.name); });

    BatchSource batches;
    batches.stepTokens = reference.stepTokens();
    batches.training = [&](std::int32_t step, std::int32_t microStep) {
        return reference.batch(step, {microStep, config.accumulate},
                               {run::placeOf(config, rank).replica, run::replicasOf(config)});
    };
    Trainer trainer(config, device, model, *partitioning, communicator, batches, observer, nullptr,
                    groups.tensor());

    run::VerifyResult result;
    for (const data::ReferenceStep& expected : reference.steps()) {
        const auto results = trainer.step(result.steps, false, AfterStep::kAnotherStep);
        if (!results) return failure(results);
        const StepResult& step = results->front();
        result.loss = std::max(result.loss, relativeError(step.loss, expected.loss));
        result.gradientNorm =
            std::max(result.gradientNorm, relativeError(step.gradientNorm, expected.gradientNorm));
        ++result.steps;
    }
    partitioning->visit([&](const kernels::Parameter& p, const at::Tensor& value) {
        const double error = relativeError(value, p.pieceOf(reference.final(p.name)).contiguous());
        if (error < result.weights) return;
        result.weights = error;
        result.worstTensor = p.name;
    });
    std::array<double, 1> state{static_cast<double>(partitioning->stateBytes())};
    communicator.allReduceSmall(state, comm::Reduction::kMax, {Cause::kStart}).wait();
    result.stateBytes = static_cast<std::int64_t>(state[0]);
    result.theoryStateBytes = theory::stateTheory(config).count;
    return result;
}

}  // namespace shardscope::training
