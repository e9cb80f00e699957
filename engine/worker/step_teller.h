// Tells of phases and steps that have ended: as spans of the recording, and to the agent.
//
// One thread at a time: the step thread as they end, or on a GPU the thread that finds that the
// device has passed them (device_backlog.h). Phases in order, each step after its phases.
#pragma once

#include "engine/control/observer.h"
#include "engine/run/protocol/messages.h"
#include "engine/worker/event_names.h"
#include "engine/worker/outbox.h"
#include "engine/worker/stretch.h"
#include "profiler/capture/capture_session.h"
#include "storage/model/events.h"

#include <cstdint>

namespace shardscope::worker {

/// `level`: the one in force when it ended, which on a GPU is long before it is told.
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

}  // namespace shardscope::worker
