// What has ended on the host but not on the device: a GPU's step thread only queues work, so its
// phases and steps are timed by marks on the device's timeline and reported once it has passed
// them.
//
// The step thread sets marks; the outbox thread, or at the end the step thread, tells.
#pragma once

#include "engine/control/graph_recorder.h"
#include "engine/worker/device_timeline.h"
#include "engine/worker/step_level.h"
#include "engine/worker/step_teller.h"
#include "storage/model/mutex.h"

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace shardscope::worker {

/// A phase of a graph: its marks are set by each launch.
struct CapturedPhase {
    EndedPhase phase;
    control::DeviceEvent begin, end;
};
using CapturedPhases = std::shared_ptr<const std::vector<CapturedPhase>>;

/// One launch of such a graph.
struct PhaseReplay {
    CapturedPhases phases;
    StepIndex step;
    CaptureLevel level = CaptureLevel::kFull;
    control::DeviceEvent end;  ///< behind the launch
    std::atomic<bool> reported{false};
};

class DeviceBacklog {
public:
    /// Both outlive the calls of it. From here on nothing else calls `teller`.
    DeviceBacklog(DeviceTimeline& timeline, StepTeller& teller)
        : m_timeline(timeline), m_teller(teller) {}

    // Step thread. The times of the reports do not count.
    void beginPhase() { m_phaseMark = mark(); }
    void endPhase(const EndedPhase& phase);
    void beginStep() { m_stepMark = m_timeline.mark(); }
    void endStep(const EndedStep& step) { add(step, m_stepMark); }

    // Phases that begin and end between the two belong to a graph. Step thread.
    void beginCapture();
    [[nodiscard]] CapturedPhases endCapture();
    [[nodiscard]] bool captures() const { return m_captured.has_value(); }
    /// After a launch, on its stream: its phases are those of `step`.
    [[nodiscard]] std::shared_ptr<PhaseReplay> addReplay(const CapturedPhases& phases,
                                                         StepIndex step, CaptureLevel level);
    /// Blocks until its phases were reported.
    void awaitReported(PhaseReplay& replay);
    /// The graph is not launched again.
    void release(const CapturedPhases& phases) noexcept;

    /// Tells what the device has passed since; all that was marked when `everything`, which waits
    /// for the device. Any thread; a second one waits for the first. Throws DeviceError.
    void tellPassed(bool everything);

private:
    using Replay = std::shared_ptr<PhaseReplay>;
    struct Marked {
        std::variant<EndedPhase, EndedStep, Replay> what;
        control::DeviceEvent begin, end;  ///< a replay has an end only
    };

    [[nodiscard]] control::DeviceEvent mark();
    void add(const std::variant<EndedPhase, EndedStep, Replay>& what, control::DeviceEvent begin);
    [[nodiscard]] Marked* first();
    void dropFirst();
    [[nodiscard]] bool passed(const Marked& marked, bool everything);
    template <class Ended>
    void tell(Ended ended, control::DeviceEvent begin, control::DeviceEvent end);
    void tell(const Replay& replay);
    void tell(const Marked& marked);

    DeviceTimeline& m_timeline;
    StepTeller& m_teller;  ///< called with m_telling held
    // Step thread.
    control::DeviceEvent m_phaseMark, m_stepMark;
    std::optional<std::vector<CapturedPhase>> m_captured;  ///< while a graph is captured

    Mutex m_telling;  ///< held while tellPassed() runs
    Mutex m_mutex;    ///< held for moments: the step thread does not wait for who tells
    std::deque<Marked> m_marked SHARDSCOPE_GUARDED_BY(m_mutex);
};

// Phases inside device graphs: marked once, when a graph is captured, and reported at each replay
// as those of the replay's step. Step thread.

class GraphPhases final : public control::GraphRecorder {
public:
    /// Both outlive it.
    GraphPhases(DeviceBacklog& backlog, const StepLevel& level)
        : m_backlog(backlog), m_level(level) {}

    void beginCapture(std::string name) override;
    std::unique_ptr<control::RecordedGraph> endCapture() override;
    void abandonCapture() noexcept override;

private:
    DeviceBacklog& m_backlog;
    const StepLevel& m_level;
};

}  // namespace shardscope::worker
