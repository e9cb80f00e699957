// Spans or instants of one lane that wait to be stored, put into order, with their split arguments.
#pragma once

#include "storage/interchange/argument_splitter.h"
#include "storage/interchange/event_window.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shardscope::interchange {

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

}  // namespace shardscope::interchange
