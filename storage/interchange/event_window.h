// Events that come nearly in order, put into order: the trace builder's buffers.
#pragma once

#include "storage/model/events.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace shardscope::interchange {

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

}  // namespace shardscope::interchange
