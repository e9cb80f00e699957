// Steps and phases of a program that knows nothing of Shardscope, from what it does anyway: ends of
// optimizer steps, ranges of PyTorch, the beginning of each backward pass.
//
// Steps: the highest source that was seen counts (inject_api.h, shardscope_step()). The first step
// begins with the first forward pass, every other one where the one before ended.
// Phases of the thread that ends steps, which never overlap: data is the range of the DataLoader,
// optimizer that of Optimizer.step; backward goes from the first of autograd's nodes to the end of
// the last: they run in falling order of their sequence number, so that a higher one begins another
// pass; forward is what lies between the end of the phase before, or the beginning of the range
// DistributedDataParallel.forward after it, and the backward pass. An optimizer whose closure has a
// forward and a backward pass, as Lightning's, goes on behind them. What the thread waits for
// within any of them, or between two, is a phase of its own, in between two pieces of that one.
#pragma once

#include "profiler/capture/capture_session.h"
#include "profiler/capture/program_link.h"
#include "profiler/collectors/host/stolen_time.h"
#include "storage/model/capture_schedule.h"
#include "storage/model/mutex.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::inject {

/// What a name of PyTorch, or a range of the user's, says about the step.
enum class NameUse : std::uint8_t {
    kNone,
    kData,       ///< "enumerate(DataLoader)#..."
    kForward,    ///< "DistributedDataParallel.forward"
    kOptimizer,  ///< "Optimizer.step#..."
    kZeroGrad,   ///< "Optimizer.zero_grad#..."
    kWait,       ///< until a collective has ended (inject_api.h, shardscope_work_wait())
    kProfilerStep,
    kStepRange,  ///< as --step-range asks for
};

class StepMarks {
public:
    using Done = std::function<void(capture::StepEnded ended)>;

    /// `done` is called on the thread that ends the step.
    StepMarks(capture::CaptureSession& session, CaptureSchedule schedule, Done done);

    // Any thread.

    [[nodiscard]] CaptureLevel level() const { return m_level.load(std::memory_order_relaxed); }
    [[nodiscard]] StepIndex step() const { return {m_step.load(std::memory_order_relaxed)}; }
    /// Of the thread that ends steps, as far as it is known already.
    [[nodiscard]] Phase phase() const { return m_phase.load(std::memory_order_relaxed); }
    /// The schedule of the steps after the one in hand.
    void change(CaptureSchedule schedule);

    void firstForward(std::int64_t nowNs);
    /// False: `source` is none, or lower than one that was seen.
    bool stepEnds(std::string_view source, std::int64_t nowNs);
    /// Of a range that says something about the step.
    void begins(NameUse use, std::int64_t nowNs);
    void ends(NameUse use, std::int64_t nowNs);
    /// An operator in no node; -1: autograd keeps no node of it. It says where a forward pass goes
    /// on behind a backward pass, or begins in the closure of an optimizer.
    void operatorBegins(std::int64_t sequence, std::int64_t nowNs);
    /// A node of autograd, which is in no other one; -1: without a number, as AccumulateGrad.
    void nodeBegins(std::int64_t sequence, std::int64_t nowNs);
    /// Shorter ones are on work that has ended, and of the phase around them.
    static constexpr std::int64_t kShortestWaitNs = 5'000;
    /// The calling thread blocked until now; others than that of the steps count for nothing.
    void waited(std::int64_t beginNs, std::int64_t nowNs);
    void nodeEnds(std::int64_t nowNs) { m_nodeEndNs.store(nowNs, std::memory_order_relaxed); }
    /// For each change of level, on the thread that ends the step.
    void onLevel(void (*set)(std::int32_t level));
    /// Nothing will be recorded any more: what observes the program for us is switched off. Only
    /// from a step of the program: at exit PyTorch's own list of observers may be gone.
    void stop();

private:
    struct Open {
        Phase phase = Phase::kNone;
        std::int64_t beginNs = 0;
    };

    struct Wait {
        std::int64_t beginNs = 0, endNs = 0;
    };
    /// Of one phase; what a program waits for beyond them is part of the phase.
    static constexpr std::size_t kMostWaits = std::size_t{1} << 16;

    [[nodiscard]] bool isStepThread();
    void beginFirst(std::int64_t nowNs) SHARDSCOPE_REQUIRES(m_state);
    bool endStep(std::string_view source, std::int64_t nowNs) SHARDSCOPE_REQUIRES(m_state);
    [[nodiscard]] bool counts(std::string_view source) SHARDSCOPE_REQUIRES(m_state);
    [[nodiscard]] bool isClosure() const SHARDSCOPE_REQUIRES(m_state) {
        return m_open && m_open->phase == Phase::kOptimizer;
    }
    void close(std::int64_t nowNs) SHARDSCOPE_REQUIRES(m_state);
    void closeBackward(std::int64_t nowNs) SHARDSCOPE_REQUIRES(m_state);
    /// With the waits that began before `endNs`.
    void emit(Phase phase, std::int64_t beginNs, std::int64_t endNs) SHARDSCOPE_REQUIRES(m_state);
    void emitPiece(Phase phase, std::int64_t beginNs, std::int64_t endNs)
        SHARDSCOPE_REQUIRES(m_state);
    void enter(Phase phase) { m_phase.store(phase, std::memory_order_relaxed); }
    /// `cpuNs`: of the process so far.
    void beginStep(std::int64_t nowNs, std::int64_t cpuNs) SHARDSCOPE_REQUIRES(m_state);
    void setLevel(CaptureLevel level);

    capture::CaptureSession& m_session;
    const Done m_done;
    std::atomic<CaptureLevel> m_level;
    std::atomic<std::int32_t> m_step{kNoStep.value};
    std::atomic<Phase> m_phase{Phase::kNone};
    std::atomic<std::int64_t> m_nodeEndNs{0};
    std::atomic<void (*)(std::int32_t)> m_onLevel{nullptr};
    std::atomic<std::uint64_t> m_thread{0};  ///< of steps; 0: not known yet

    Mutex m_mutex;
    CaptureSchedule m_schedule SHARDSCOPE_GUARDED_BY(m_mutex);

    // The thread of the steps; a program may have several that end steps.
    Mutex m_state;
    std::array<StringId, kPlaces<Phase>> m_phaseNames{};
    StringId m_stepName;
    int m_sourceRank = -1;
    std::string m_source;
    bool m_inProfilerStep = false;
    bool m_trained = false;                     ///< since the last step ended
    bool m_profilerTrained = false;             ///< in a ProfilerStep
    std::optional<std::int64_t> m_stepBeginNs;  ///< none: before the first step
    std::int64_t m_cursorNs = 0;                ///< where the last phase ended
    std::optional<std::int64_t> m_forwardNs;    ///< a range of forward began there
    std::optional<Open> m_open;                 ///< a range
    std::optional<std::int64_t> m_backwardNs;
    std::optional<std::int64_t> m_resumedNs;         ///< the first operator behind its last node
    std::vector<Wait> m_waits;                       ///< in no phase yet; disjoint, by time
    std::int64_t m_firstNode = -1;                   ///< its sequence number
    CaptureLevel m_stepLevel = CaptureLevel::kFull;  ///< of the step in hand
    DetailReason m_stepReason = DetailReason::kSchedule;
    std::int64_t m_cpuNs = 0;
    std::optional<std::int64_t> m_waitedNs;
    std::optional<collectors::CoreWait> m_coreWait;
    collectors::HostCores m_hostCores;
};

}  // namespace shardscope::inject
