// Makes events and spans of the collectives that communicators report, and lanes for their groups.
//
// report() comes from the thread that communicates (on a GPU the communicator's watcher), store()
// from that one or, after a join with kernels, from the outbox's; the step thread sets up.
#pragma once

#include "engine/control/observer.h"
#include "engine/training/precision_report.h"
#include "engine/worker/event_names.h"
#include "engine/worker/step_level.h"
#include "profiler/capture/capture_session.h"
#include "storage/model/events.h"
#include "storage/model/mutex.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace shardscope::worker {

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

}  // namespace shardscope::worker
