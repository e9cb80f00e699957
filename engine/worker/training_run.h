// Training from the first step to the last: data, evaluation, checkpoints, and what is reported of
// each. Step thread.
#pragma once

#include "engine/checkpoint/gpt2_names.h"
#include "engine/comm/communicator.h"
#include "engine/run/protocol/messages.h"
#include "engine/training/precision_report.h"
#include "engine/training/trainer.h"
#include "engine/worker/command_reader.h"
#include "engine/worker/gpu_rank.h"
#include "engine/worker/outbox.h"
#include "engine/worker/recording_observer.h"
#include "profiler/capture/capture_session.h"

#include <functional>

namespace shardscope::worker {

/// What of a rank's worker a run needs; all outlive it.
struct RunParts {
    const run::RankStart& start;
    at::Device device;
    comm::Communicator& communicator;
    capture::CaptureSession& session;
    RecordingObserver& observer;
    Outbox& outbox;
    CommandReader& commands;
    GpuRank* gpu = nullptr;                        ///< null: a CPU rank
    std::function<void(std::int32_t)> beforeStep;  ///< decides what the step captures
    std::function<void()> changeCapture;           ///< all ranks do, between two steps
    std::function<void()> giveUp;                  ///< makes peers fail instead of wait
};

class TrainingRun {
public:
    explicit TrainingRun(const RunParts& parts) : m_parts(parts), m_config(parts.start.config) {}

    /// What failed has been posted when this returns an error.
    Result<void> run();

private:
    struct Engine {
        gpt::Gpt& model;
        parallel::Partitioning& partitioning;
        training::Trainer& trainer;
    };

    Result<void> load(Engine& engine);
    Result<void> loop(Engine& engine);
    Result<bool> step(Engine& engine, std::int32_t step);
    Result<training::StepResults> runStep(Engine& engine, std::int32_t step);
    [[nodiscard]] bool evaluatesAfter(std::int32_t step) const;
    [[nodiscard]] bool savesAfter(std::int32_t step) const;
    Result<bool> evaluate(Engine& engine, std::int32_t step);
    Result<bool> sample(Engine& engine, std::int32_t step);
    Result<void> save(Engine& engine);
    void report(const training::StepResult& result);
    void noteSkippedStep(const training::StepResult& result, std::int32_t step);
    Result<void> notFinite(const training::StepResult& result, training::Trainer& trainer);
    Result<void> stepFailed(const Error& error, const training::Trainer& trainer);
    Result<void> post(run::RankFailed failed, const training::StepPosition& place);
    void reportPrecision();

    const RunParts m_parts;
    const run::RunConfig& m_config;
    training::PrecisionReport m_precision;  ///< of the first step, when asked for
    bool m_first = true;                    ///< no step yet
    std::int64_t m_knownNs = 0;  ///< when the last result was known, or later what follows it began
};

}  // namespace shardscope::worker
