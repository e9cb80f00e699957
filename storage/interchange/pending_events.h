// Spans or instants of one lane that wait to be stored, put into order, with their split arguments.
#pragma once

#include "storage/interchange/argument_splitter.h"
#include "storage/model/events.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace shardscope::interchange {

// Events that come nearly in order, put into order: the trace builder's buffers.

[[nodiscard]] inline bool comesBefore(const SpanEvent& a, const SpanEvent& b) {
    // The longer of two that start together encloses the other.
    return a.start != b.start ? a.start < b.start : a.duration > b.duration;
}
[[nodiscard]] inline bool comesBefore(const CounterEvent& a, const CounterEvent& b) {
    return a.time < b.time;
}
[[nodiscard]] inline bool comesBefore(const InstantEvent& a, const InstantEvent& b) {
    return a.time < b.time;
}

/// Events of one lane. Equal ones keep the order they came in.
template <class Event>
class EventWindow {
public:
    void add(const Event& event) {
        m_sorted = m_sorted && (m_events.empty() || !comesBefore(event, m_events.back()));
        m_events.push_back(event);
    }
    [[nodiscard]] std::size_t size() const { return m_events.size(); }
    /// What take() left; all but its place in the order may be changed.
    [[nodiscard]] std::vector<Event>& waiting() { return m_events; }

    /// The first `count` in order; the rest stays.
    [[nodiscard]] std::vector<Event> take(std::size_t count) {
        if (!m_sorted)
            std::stable_sort(m_events.begin(), m_events.end(),
                             [](const Event& a, const Event& b) { return comesBefore(a, b); });
        m_sorted = true;
        const auto end =
            m_events.begin() + static_cast<std::ptrdiff_t>(std::min(count, m_events.size()));
        std::vector<Event> taken(m_events.begin(), end);
        m_events.erase(m_events.begin(), end);
        return taken;
    }

private:
    std::vector<Event> m_events;
    bool m_sorted = true;
};

/// Gives spans of one lane rows in which nothing overlaps: nested ones their nesting depth.
class DepthRows {
public:
    /// By start, longer ones first; a late one goes below all that may still overlap it.
    void place(SpanEvent& span) {
        const bool late = span.start < m_latest;
        std::size_t row = late ? m_ends.size() : m_live;
        while (row > 0 && m_ends[row - 1] <= span.start) --row;
        row = std::min(row, kMostRows - 1);
        if (row >= m_ends.size()) m_ends.resize(row + 1, kBeginning);
        m_ends[row] = std::max(m_ends[row], span.end());
        m_live = late ? std::max(m_live, row + 1) : row + 1;
        m_latest = std::max(m_latest, span.start);
        span.depth = static_cast<std::uint8_t>(row);
    }

private:
    static constexpr std::size_t kMostRows = 255;
    static constexpr Timestamp kBeginning{std::numeric_limits<std::int64_t>::min()};
    std::vector<Timestamp> m_ends;  ///< latest end of each row
    std::size_t m_live = 0;         ///< rows from here on ended before m_latest
    Timestamp m_latest = kBeginning;
};

/// SpanEvent or InstantEvent.
template <class Event>
class PendingEvents {
public:
    /// With the arguments that the event has itself, if any: a string.
    void add(const Event& event) { m_window.add(event); }
    void add(const Event& event, const SplitArguments& arguments);

    [[nodiscard]] std::size_t size() const { return m_window.size(); }
    /// Numbers that wait with them, 8 bytes each.
    [[nodiscard]] std::size_t numbers() const { return m_arguments.size(); }

    /// The first `count` in order.
    [[nodiscard]] std::vector<Event> take(std::size_t count) { return m_window.take(count); }
    /// Gives events that were taken the ids of their arguments in `table`, and forgets those. All
    /// of them get one where any waits, so that ids count up evenly.
    Result<void> resolve(std::vector<Event>& taken, ArgumentTable& table);

private:
    [[nodiscard]] std::span<const std::int64_t> recordOf(const Event& event) const;
    void keepWaiting();

    /// `arguments` of an event that has some: where its record begins, from kFirstArguments on.
    EventWindow<Event> m_window;
    std::vector<std::int64_t> m_arguments;  ///< records: form, number of values, values
};

// What a foreign trace calls a lane.

/// What tells lanes of a rank apart in the foreign trace, e.g. ("GPU 0", "stream 7").
struct LaneSource {
    std::string process;
    std::string thread;
    friend auto operator<=>(const LaneSource&, const LaneSource&) = default;
};

}  // namespace shardscope::interchange
