// Tells of phases and steps that have ended: as spans of the recording, and to the agent.
//
// One thread at a time: the step thread as they end, or on a GPU the thread that finds that the
// device has passed them (device_backlog.h). Phases in order, each step after its phases.
#pragma once

#include "engine/control/observer.h"
#include "engine/run/config/rank_layout.h"
#include "engine/run/config/run_config.h"
#include "engine/run/protocol/messages.h"
#include "engine/run/theory/theory.h"
#include "engine/worker/event_names.h"
#include "engine/worker/outbox.h"
#include "engine/worker/step_level.h"
#include "profiler/capture/capture_session.h"
#include "profiler/collectors/host/stolen_time.h"
#include "storage/model/events.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace shardscope::worker {

/// `level`: the one in force when it ended, which on a GPU is long before it is reported.
struct EndedPhase {
    control::PhaseReport report;
    StepIndex step;
    CaptureLevel level = CaptureLevel::kFull;
};
struct EndedStep {
    control::StepReport report;
    run::StepDone done;  ///< but for what tell() adds: start, end, events, exposed communication;
                         ///< `done.capture` is the level in force
};

class StepTeller {
public:
    /// All outlive it.
    StepTeller(const EventNames& names, capture::CaptureSession& session, Outbox& outbox)
        : m_names(names), m_session(session), m_outbox(outbox) {}

    void tell(const EndedPhase& phase);
    void tell(const EndedStep& step);

private:
    void closeStretch(std::int64_t nowNs, StepIndex step);
    void span(LaneId lane, StringId name, const EndedPhase& what, std::uint8_t depth);

    const EventNames& m_names;
    capture::CaptureSession& m_session;
    Outbox& m_outbox;

    Stretch m_stretch = Stretch::kNone;
    std::int64_t m_stretchStartNs = 0;
    std::int64_t m_blockedNs = 0;  ///< in waits of the step so far
};

// What a step used and what a recording of it must hold: tokens, CPU time, time without a core,
// memory, expected events.
//
// Step thread, but for buffers, which come and go on any.

class StepAccount {
public:
    /// `level` outlives it.
    StepAccount(const run::RunConfig& config, RankId rank, const StepLevel& level)
        : m_rank(rank),
          m_trains(config.work == run::Work::kTraining),
          m_contents(theory::stepContents(
              config, run::placeOf(config, static_cast<std::int32_t>(rank.value)).tensor)),
          m_level(level) {}

    /// Gives the bytes that peaked on the device since its last call; before the first step. The
    /// host's allocator is asked otherwise.
    void readDevicePeakBy(std::function<std::int64_t()> reader) {
        m_devicePeak = std::move(reader);
    }

    void begin();
    /// Of the step that begin() began; complete but for what a StepTeller adds.
    [[nodiscard]] run::StepDone end(const control::StepReport& report);

    /// Bytes of a buffer outside of any allocator that has come, negative: gone. Any thread.
    void addBuffer(std::int64_t bytes) { m_bufferBytes.fetch_add(bytes); }
    [[nodiscard]] std::int64_t bufferBytes() const { return m_bufferBytes.load(); }

private:
    void expect(StepFacts& facts, bool skipped) const;
    void tellWithoutCore(StepFacts& facts, std::int64_t nowNs);

    const RankId m_rank;
    const bool m_trains;  ///< else theory knows nothing of what a step holds
    const theory::StepContents m_contents;
    const StepLevel& m_level;
    std::function<std::int64_t()> m_devicePeak;
    std::atomic<std::int64_t> m_bufferBytes{0};
    std::int64_t m_cpuNs = 0;                        ///< of the process when the step began
    std::optional<collectors::CoreWait> m_coreWait;  ///< of the step thread, from its first step on
    std::optional<std::int64_t> m_waitedNs;          ///< for a core when the step began
    collectors::HostCores m_hostCores;
};

}  // namespace shardscope::worker
