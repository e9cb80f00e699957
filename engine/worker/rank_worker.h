// One rank from its start message to its last: the place where engine, capture and sending
// meet. Lives on the process's main thread, which is the step thread.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/run/protocol/messages.h"
#include "engine/training/trainer.h"
#include "engine/worker/command_reader.h"
#include "engine/worker/gpu_rank.h"
#include "engine/worker/host_peak.h"
#include "engine/worker/outbox.h"
#include "engine/worker/rank_activity.h"
#include "engine/worker/rank_links.h"
#include "engine/worker/recording_observer.h"
#include "engine/worker/training_run.h"
#include "profiler/capture/capture_session.h"
#include "profiler/collectors/operators/operator_collector.h"
#include "storage/model/result.h"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace shardscope::worker {

class RankWorker {
public:
    /// `fd`: the stream to the agent. `linked`: what is done with the links of a CPU rank when they
    /// stand; for ranks that tests put faults into.
    RankWorker(int fd, run::RankStart start, CommandReader& commands,
               std::function<void(RankLinks&)> linked = {});
    ~RankWorker();

    /// Trains, follows a reference, or measures. What goes wrong has been reported when this
    /// returns.
    Result<void> run();

private:
    Result<void> prepare();
    Result<void> train();
    Result<void> followReference();
    Result<void> measure();
    [[nodiscard]] RunParts runParts();
    /// Opens the GPU before LibTorch is asked about it; nothing on a CPU.
    Result<void> openDevice();
    void tellActivity();
    bool majority(bool vote);
    bool chosen(const std::string& what, double ratio);
    void chooseKernels();
    void chooseHostKernels();
    void chooseMatmulLibrary();
    [[nodiscard]] bool choosesBlockedAttention(bool narrow);
    void chooseNarrowProducts();
    void reportFacts();
    void calibrate();
    double ofOwnHost(double said);
    [[nodiscard]] ChosenPeak hostPeak(int threads) const;
    void reportTheory();
    void giveUp();
    void captureStep(std::int32_t step);
    void changeCapture();

    const run::RankStart m_start;
    std::vector<FactRow> m_hostFacts;  ///< before this rank was a load itself
    at::Device m_device = at::kCPU;
    CommandReader& m_commands;
    Outbox m_outbox;
    capture::CaptureSession m_session;
    RecordingObserver m_observer;
    ActivityTeller m_activity{m_observer.place(), m_outbox};  ///< outbox thread
    std::unique_ptr<GpuRank> m_gpu;                           ///< null on a CPU
    std::atomic<GpuRank*> m_sampled{nullptr};  ///< the same, once the outbox thread may use it
    std::unique_ptr<collectors::OperatorCollector> m_operators;
    /// On a GPU whose launches are traced, while m_operators is off.
    std::unique_ptr<collectors::BackwardContexts> m_backward;
    RankLinks m_links;
    const std::function<void(RankLinks&)> m_linked;

    // Step thread.
    CaptureSchedule m_schedule;
    CaptureLevel m_level = CaptureLevel::kFull;  ///< in force
    bool m_begun = false;                        ///< a step has
};

}  // namespace shardscope::worker
