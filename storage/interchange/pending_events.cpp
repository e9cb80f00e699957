#include "storage/interchange/pending_events.h"

namespace shardscope::interchange {
namespace {

/// Form and number of values.
constexpr std::size_t kFront = 2;

columns::ArgumentForm formOf(std::span<const std::int64_t> record) {
    return {{static_cast<std::uint32_t>(record[0])}, static_cast<std::uint32_t>(record[1])};
}

StringId idOf(std::size_t place) {
    return {columns::kFirstArguments + static_cast<std::uint32_t>(place)};
}

}  // namespace

template <class Event>
void PendingEvents<Event>::add(const Event& event, const SplitArguments& arguments) {
    Event with = event;
    with.arguments = idOf(m_arguments.size());
    m_arguments.push_back(arguments.form.text.value);
    m_arguments.push_back(arguments.form.count);
    m_arguments.insert(m_arguments.end(), arguments.values.begin(), arguments.values.end());
    m_window.add(with);
}

template <class Event>
std::span<const std::int64_t> PendingEvents<Event>::recordOf(const Event& event) const {
    const auto from =
        std::span(m_arguments).subspan(event.arguments.value - columns::kFirstArguments);
    return from.first(kFront + static_cast<std::size_t>(from[1]));
}

template <class Event>
Result<void> PendingEvents<Event>::resolve(std::vector<Event>& taken, ArgumentTable& table) {
    if (m_arguments.empty()) return {};
    for (Event& event : taken) {
        if (event.arguments == kEmptyString) {
            event.arguments = table.addNone();
        } else if (columns::isArguments(event.arguments)) {
            const auto record = recordOf(event);
            event.arguments = table.add(formOf(record), record.subspan(kFront));
        }
    }
    keepWaiting();
    return table.flush();
}

/// Drops records of events that no longer wait.
template <class Event>
void PendingEvents<Event>::keepWaiting() {
    std::vector<std::int64_t> kept;
    for (Event& event : m_window.waiting()) {
        if (!columns::isArguments(event.arguments)) continue;
        const auto record = recordOf(event);
        event.arguments = idOf(kept.size());
        kept.insert(kept.end(), record.begin(), record.end());
    }
    m_arguments = std::move(kept);
}

template class PendingEvents<SpanEvent>;
template class PendingEvents<InstantEvent>;

}  // namespace shardscope::interchange
