#include "storage/interchange/event_runs.h"

#include <algorithm>
#include <queue>

namespace shardscope::interchange {
namespace {

template <class Event>
bool isEarlier(const Event& a, const Event& b) {
    return a.time < b.time;
}

/// Reads a run a part at a time.
template <class Event>
class Cursor {
public:
    Cursor() = default;
    explicit Cursor(std::vector<Event> events) : m_events(std::move(events)) {}
    explicit Cursor(std::vector<columns::ChunkBytes> parts) : m_parts(std::move(parts)) {}

    /// false: at the end.
    Result<bool> load() {
        while (m_at == m_events.size()) {
            if (m_part == m_parts.size()) return false;
            auto decoded = columns::StoredKind<Event>::decode(m_parts[m_part]);
            if (!decoded) return failure(decoded);
            m_parts[m_part++] = {};
            m_events = std::move(*decoded);
            m_at = 0;
        }
        return true;
    }
    [[nodiscard]] const Event& front() const { return m_events[m_at]; }
    void next() { ++m_at; }

private:
    std::vector<columns::ChunkBytes> m_parts;
    std::size_t m_part = 0;
    std::vector<Event> m_events;
    std::size_t m_at = 0;
};

}  // namespace

template <class Event>
void EventRuns<Event>::add(const Event& event) {
    m_pending.push_back(event);
    if (m_pending.size() == columns::kMaxChunkEvents) encodePending();
}

template <class Event>
void EventRuns<Event>::encodePending() {
    if (m_pending.empty()) return;
    std::stable_sort(m_pending.begin(), m_pending.end(), isEarlier<Event>);
    if (m_runs.empty() || m_pending.front().time < m_runEnd) m_runs.emplace_back();
    m_runEnd = m_pending.back().time;
    for (std::size_t at = 0; at < m_pending.size(); at += columns::kStoredChunkEvents) {
        const std::span<const Event> rest = std::span(m_pending).subspan(at);
        m_runs.back().push_back(columns::StoredKind<Event>::encode(
            {}, rest.first(std::min(rest.size(), columns::kStoredChunkEvents))));
    }
    m_pending.clear();
}

template <class Event>
Result<void> EventRuns<Event>::drain(const std::function<void(std::span<Event>)>& store) {
    encodePending();
    std::stable_sort(m_first.begin(), m_first.end(), isEarlier<Event>);
    std::vector<Cursor<Event>> cursors;
    cursors.emplace_back(std::exchange(m_first, {}));
    for (Run& run : m_runs) cursors.emplace_back(std::move(run));
    m_runs.clear();
    // The earliest event is on top; of equal ones that of the earlier run.
    const auto later = [&](std::size_t a, std::size_t b) {
        const Timestamp left = cursors[a].front().time, right = cursors[b].front().time;
        return left != right ? left > right : a > b;
    };
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> queue(later);
    const auto enter = [&](std::size_t cursor) -> Result<void> {
        auto more = cursors[cursor].load();
        if (!more) return failure(more);
        if (*more) queue.push(cursor);
        return {};
    };
    for (std::size_t i = 0; i < cursors.size(); ++i)
        if (auto entered = enter(i); !entered) return entered;
    std::vector<Event> part;
    while (!queue.empty()) {
        const std::size_t top = queue.top();
        queue.pop();
        part.push_back(cursors[top].front());
        cursors[top].next();
        if (auto entered = enter(top); !entered) return entered;
        if (part.size() < columns::kStoredChunkEvents) continue;
        store(part);
        part.clear();
    }
    if (!part.empty()) store(part);
    return {};
}

template class EventRuns<MemoryEvent>;
template class EventRuns<FlowEvent>;

}  // namespace shardscope::interchange
