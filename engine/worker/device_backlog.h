// What has ended on the host but not on the device: a GPU's step thread only queues work, so its
// phases and steps are timed by marks on the device's timeline and told once it has passed them.
//
// The step thread sets marks; the outbox thread, or at the end the step thread, tells.
#pragma once

#include "engine/worker/device_timeline.h"
#include "engine/worker/step_teller.h"
#include "storage/model/mutex.h"

#include <deque>
#include <variant>

namespace shardscope::worker {

class DeviceBacklog {
public:
    /// Both outlive the calls of it. From here on nobody else calls `teller`.
    DeviceBacklog(DeviceTimeline& timeline, StepTeller& teller)
        : m_timeline(timeline), m_teller(teller) {}

    // Step thread. The times of the reports do not count.
    void beginPhase() { m_phaseMark = m_timeline.mark(); }
    void endPhase(const EndedPhase& phase) { add(phase, m_phaseMark); }
    void beginStep() { m_stepMark = m_timeline.mark(); }
    void endStep(const EndedStep& step) { add(step, m_stepMark); }

    /// Tells what the device has passed since; all that was marked when `everything`, which waits
    /// for the device. Any thread; a second one waits for the first. Throws DeviceError.
    void tellPassed(bool everything);

private:
    struct Marked {
        std::variant<EndedPhase, EndedStep> what;
        control::DeviceEvent begin, end;
    };

    void add(const std::variant<EndedPhase, EndedStep>& what, control::DeviceEvent begin);
    [[nodiscard]] Marked* first();
    void dropFirst();
    [[nodiscard]] bool passed(const Marked& marked, bool everything);
    void readMarks(Marked& marked);

    DeviceTimeline& m_timeline;
    StepTeller& m_teller;                          ///< called with m_telling held
    control::DeviceEvent m_phaseMark, m_stepMark;  ///< step thread

    Mutex m_telling;  ///< held while tellPassed() runs
    Mutex m_mutex;    ///< held for moments: the step thread does not wait for who tells
    std::deque<Marked> m_marked SHARDSCOPE_GUARDED_BY(m_mutex);
};

}  // namespace shardscope::worker
