// Which step each event of one rank belongs to, where the trace names its steps by annotations.
// Part of the trace builder. One thread.
#pragma once

#include "storage/interchange/builder/limits.h"
#include "storage/interchange/step_marks.h"
#include "storage/model/recording.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace shardscope::interchange {

class RankSteps {
public:
    /// Events without a step get one from now on; before this they keep what they have.
    void derive();
    /// All marks are known, before the first event came: later ones only become rows.
    void know(std::shared_ptr<StepMarks> marks);
    /// Where steps are named in several ways one of them counts: the first of StepNaming whose
    /// numbers do not repeat, as those of parts of a step do.
    void add(const NamedStep& step, TimeRange range);
    /// A call of the host that launches the device work of this correlation.
    void addLaunch(std::uint64_t correlation, Timestamp start) {
        if (m_marks != nullptr) m_marks->addLaunch(correlation, start);
    }

    /// Steps of events that have none; in order of time, about to be stored.
    template <class Event>
    void fill(std::span<Event> events) {
        if (m_marks == nullptr || events.empty()) return;
        order();
        for (Event& event : events)
            if (event.step == kNoStep) event.step = stepOf(event);
        m_storedThrough = std::max(m_storedThrough, timeOf(events.back()));
    }
    /// kNoStep outside of all steps.
    [[nodiscard]] StepIndex at(Timestamp time) {
        order();
        return m_marks != nullptr ? m_marks->at(time) : kNoStep;
    }

    /// Some events were stored before a step that they may belong to was marked, or before their
    /// launch came.
    [[nodiscard]] bool cameLate() const;
    /// Marks for all of the trace, for reading it once more; null where there are none.
    [[nodiscard]] std::shared_ptr<StepMarks> marked() const;
    /// Those that have rows: not one that overlaps an earlier one. Where numbers begin again, as
    /// those of a profiler that was started again, they count on.
    [[nodiscard]] std::vector<StepFacts> rows(RankId rank) const;
    using Counts = std::map<StepNaming, std::size_t>;
    /// Adds how many ranges of each naming were taken for steps, and how many were not.
    void count(Counts& taken, Counts& left) const;
    /// How often the numbers began again.
    [[nodiscard]] std::size_t restarts() const;

private:
    /// Marks as steps are numbered; how one that comes next is.
    class Numbering {
    public:
        /// Nothing where it overlaps the last one.
        [[nodiscard]] std::optional<StepMarks::Mark> next(const StepMarks::Mark& mark);
        [[nodiscard]] std::size_t restarts() const { return m_restarts; }

    private:
        Timestamp m_end{-kStorableTime};
        std::int64_t m_last = -1, m_added = 0;
        std::size_t m_restarts = 0;
    };
    [[nodiscard]] static StepMarks::ByBegin numbered(const StepMarks::ByBegin& named);
    /// Brings marks that came in another order than that of time into it.
    void order();
    [[nodiscard]] StepNaming chosen() const;
    [[nodiscard]] StepIndex stepOf(const SpanEvent& span) {
        return isStreamLane(span.lane) ? m_marks->ofLaunched(span.correlation, span.start)
                                       : m_marks->at(span.start);
    }
    [[nodiscard]] StepIndex stepOf(const CollectiveEvent& event) const {
        return m_marks->at(event.issue);
    }
    /// Memory events and instants.
    template <class Event>
    [[nodiscard]] StepIndex stepOf(const Event& event) const {
        return m_marks->at(event.time);
    }
    static Timestamp timeOf(const SpanEvent& span) { return span.start; }
    static Timestamp timeOf(const CollectiveEvent& event) { return event.start; }
    template <class Event>
    static Timestamp timeOf(const Event& event) {
        return event.time;
    }

    std::shared_ptr<StepMarks> m_marks;  ///< null: events have their steps themselves
    bool m_known = false;                ///< all of them, before the first event came
    bool m_late = false;
    std::map<StepNaming, StepMarks::ByBegin> m_named;
    StepNaming m_inUse = StepNaming::kProfilerStep;  ///< whose are in m_marks
    Numbering m_numbering;                           ///< of those in m_marks
    Timestamp m_latest{-kStorableTime};              ///< begin of a mark in use
    bool m_disordered = false;
    Timestamp m_storedThrough{-kStorableTime};  ///< latest start of a stored event
};

}  // namespace shardscope::interchange
