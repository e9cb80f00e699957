// Turns what the engine reports into events of the capture session and messages of the outbox.
//
// Holds the parts that do it and calls each from the thread that it says: this one only knows what
// a step or a phase means for the thread that is in it.
//
// Lanes of a rank (storage/model/lanes.h): steps with their stretches, phases with the waits among
// them, operators, communication in the world and in groups, resident set and CPU time.
#pragma once

#include "engine/control/observer.h"
#include "engine/run/config/run_config.h"
#include "engine/training/precision_report.h"
#include "engine/worker/device_backlog.h"
#include "engine/worker/device_timeline.h"
#include "engine/worker/event_names.h"
#include "engine/worker/outbox.h"
#include "engine/worker/rank_activity.h"
#include "engine/worker/step_level.h"
#include "engine/worker/step_teller.h"
#include "profiler/capture/capture_session.h"
#include "storage/model/events.h"
#include "storage/model/mutex.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::worker {

/// Makes events and spans of the collectives that communicators report, and lanes for their groups.
///
/// report() comes from the thread that communicates (on a GPU the communicator's watcher), store()
/// from that one or, after a join with kernels, from the outbox's; the step thread sets up.
class CollectiveRecorder {
public:
    /// With CollectiveReport::captured.
    using Taker = std::function<void(const CollectiveEvent&, std::uint64_t captured)>;

    /// All outlive it.
    CollectiveRecorder(const EventNames& names, const StepLevel& level,
                       capture::CaptureSession& session)
        : m_names(names), m_level(level), m_session(session) {}

    /// Collectives go to `taker` instead of store(); step thread, before the first.
    void handTo(Taker taker) { m_taker = std::move(taker); }
    /// Hears of every collective from now on, captured or not; null: none. Step thread.
    /// Outlives the collectives that began before it is replaced.
    void listen(training::PrecisionReport* report) { m_precision.store(report); }

    /// Any thread.
    void report(const control::CollectiveReport& report);
    /// Records a collective and draws it; any thread.
    void store(const CollectiveEvent& event);

private:
    [[nodiscard]] CollectiveEvent eventOf(const control::CollectiveReport& report);
    [[nodiscard]] SpanEvent spanOf(const CollectiveEvent& event);
    void drawLevels(const control::CollectiveReport& report, const CollectiveEvent& event);
    [[nodiscard]] LaneId laneOf(std::uint32_t group);

    const EventNames& m_names;
    const StepLevel& m_level;
    capture::CaptureSession& m_session;
    Taker m_taker;
    std::atomic<training::PrecisionReport*> m_precision{nullptr};

    Mutex m_mutex;
    std::vector<std::uint32_t> m_groups SHARDSCOPE_GUARDED_BY(m_mutex);  ///< in order of lanes
};

class RecordingObserver final : public control::Observer {
public:
    /// `session` and `outbox` outlive it.
    RecordingObserver(const run::RunConfig& config, RankId rank, capture::CaptureSession& session,
                      Outbox& outbox);

    // Step thread.
    void stepBegin(std::int32_t step) override;
    void stepEnd(const control::StepReport& report) override;
    void phaseBegin(Phase phase, LayerIndex layer) override;
    void phaseEnd(const control::PhaseReport& report) override;
    [[nodiscard]] bool wantsIdle() override;
    void deviceIdle() override;
    void metric(control::Metric metric, std::int32_t step, double value) override;
    // Any thread.
    void collective(const control::CollectiveReport& report) override;
    void buffer(const control::BufferReport& report) override;

    /// Parts that others set up, decide or use.
    [[nodiscard]] StepLevel& level() { return m_level; }
    [[nodiscard]] StepAccount& account() { return m_account; }
    [[nodiscard]] CollectiveRecorder& collectives() { return m_collectives; }
    [[nodiscard]] const StepPlace& place() const { return m_place; }

    [[nodiscard]] control::GraphRecorder* graphs() override;

    /// From now on phases and steps are those of the device; before the first. `timeline` outlives
    /// the observer's use of it.
    void timeOn(DeviceTimeline& timeline);
    /// Whom wantsIdle() asks, and deviceIdle() tells; before the first step.
    void watchIdle(std::function<bool()> wants, std::function<void()> idle) {
        m_wantsIdle = std::move(wants);
        m_whenIdle = std::move(idle);
    }
    /// DeviceBacklog::tellPassed(); nothing without a device.
    void tellPassed(bool everything);

    /// Resident set and CPU time as counters; outbox thread.
    void sampleUsage();

private:
    const RankId m_rank;
    const bool m_recordsBuffers;
    capture::CaptureSession& m_session;
    Outbox& m_outbox;

    const EventNames m_names;
    StepLevel m_level;
    StepPlace m_place;
    StepAccount m_account;
    CollectiveRecorder m_collectives;
    StepTeller m_teller;
    std::optional<DeviceBacklog>
        m_backlog;  ///< on a device; else phases and steps are reported at once
    std::optional<GraphPhases> m_graphs;  ///< with it
    std::function<bool()> m_wantsIdle;
    std::function<void()> m_whenIdle;
    /// Of the phase in hand. A mark is work for the device: below light only waits are timed, which
    /// a step's exposed communication is made of.
    bool m_marksPhase = false;
    const bool m_marksGraphs;  ///< whatever the level is at the capture, a replay's may be higher
};

}  // namespace shardscope::worker
