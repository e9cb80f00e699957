// How much is captured of the step in hand, of the one after it, and of what was fetched ahead.
//
// The step thread decides between two steps; what reports a step or a collective asks.
#pragma once

#include "storage/model/detail.h"

#include <atomic>
#include <cstdint>

namespace shardscope::worker {

class StepLevel {
public:
    /// `run`: the run's own level, until the first decision.
    explicit StepLevel(CaptureLevel run)
        : m_level(run), m_next(run), m_steps({-1, run, run, run, run}) {}

    // Step thread.

    /// The level from now on, why it is less than the run's where it is, and that of the step
    /// after: what is fetched ahead for it belongs to it.
    void decide(CaptureLevel level, DetailReason reason, CaptureLevel next);
    void begin(std::int32_t step);
    [[nodiscard]] CaptureLevel level() const { return m_level.load(); }
    [[nodiscard]] DetailReason reason() const { return m_reason; }
    /// The step in hand is captured at light or more from its beginning, and so was what had been
    /// fetched for it before.
    [[nodiscard]] bool whole() const { return m_whole; }

    // Any thread.

    [[nodiscard]] bool takes(CaptureLevel level) const { return m_level.load() >= level; }
    /// Of `step`: the one in hand, the one after where it is fetched ahead, or one of the two
    /// before where it is reported late: the host of a GPU queues a step while the one before runs.
    /// Outside of steps the level from now on counts.
    [[nodiscard]] bool takesCollective(std::int32_t step) const;

private:
    /// Read together, by the thread that reports a collective.
    struct Steps {
        std::int32_t step;  ///< in hand
        CaptureLevel earlier, before, level, next;
    };

    std::atomic<CaptureLevel> m_level;
    CaptureLevel m_next;  ///< of the step after; step thread
    std::atomic<Steps> m_steps;

    // Step thread.
    DetailReason m_reason = DetailReason::kSchedule;
    bool m_fetchedAhead = true;  ///< what was fetched for the step before it began was captured
    bool m_whole = false;
};

}  // namespace shardscope::worker
