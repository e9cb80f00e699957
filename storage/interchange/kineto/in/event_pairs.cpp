#include "storage/interchange/kineto/in/event_pairs.h"

#include <algorithm>
#include <utility>

namespace shardscope::interchange::kineto {
namespace {

constexpr std::size_t kBytesEach = sizeof(EventPairs::Part);

std::string keyOf(const Event& event) {
    const std::string_view phase = bare(event.phase);
    if (phase != "B" && phase != "E") return EventPairs::asyncKey(event);
    return std::string(bare(event.process)).append("\n").append(bare(event.thread));
}

}  // namespace

bool EventPairs::isBegin(const Event& event) {
    const std::string_view phase = bare(event.phase);
    return phase == "B" || phase == "b" || phase == "S";
}

/// By category, id and scope; an id may be one of the process alone.
std::string EventPairs::asyncKey(const Event& event) {
    std::string key("async\n");
    key.append(bare(event.category)).append("\n").append(bare(event.asyncScope)).append("\n");
    if (event.id2.empty()) return key.append(bare(event.id));
    key.append(event.id2);
    const bool local = event.id2.find("\"local\"") != std::string_view::npos;
    return local ? key.append("\n").append(bare(event.process)) : key;
}

void EventPairs::add(const Event& event, Timestamp time) {
    Thread& thread = m_threads[keyOf(event)];
    Part part{time, std::string(event.text)};
    m_bytes += part.text.size() + kBytesEach;
    if (!m_sorts) {
        m_disordered |= time < thread.latest;
        thread.latest = std::max(thread.latest, time);
        take(thread, std::move(part), event);
    } else {
        thread.waiting.push_back(std::move(part));
    }
    if (m_bytes <= kMostBytes) return;
    for (auto& [key, each] : m_threads) release(each, each.waiting.size() / 2 + 1);
    if (m_bytes <= kMostBytes) return;
    for (auto& [key, each] : m_threads) rejectOpen(each);
}

void EventPairs::forget(const Part& part) {
    m_bytes -= part.text.size() + kBytesEach;
}

/// The innermost; of asynchronous work the innermost of its name, if any has it.
std::vector<EventPairs::Part>::reverse_iterator EventPairs::matching(std::vector<Part>& open,
                                                                     const Event& end) {
    const bool async = bare(end.phase) != "E";
    if (!async || open.size() == 1 || end.name.empty()) return open.rbegin();
    const std::string name = textOf(end.name);
    Event begin;
    const auto found = std::find_if(open.rbegin(), open.rend(), [&](const Part& part) {
        static_cast<void>(readEvent(part.text, begin));
        return textOf(begin.name) == name;
    });
    return found == open.rend() ? open.rbegin() : found;
}

/// Pairs the earliest `count`; what begins and ends at one time stands as it does in the file.
void EventPairs::release(Thread& thread, std::size_t count) {
    std::vector<Part>& waiting = thread.waiting;
    count = std::min(count, waiting.size());
    std::stable_sort(waiting.begin(), waiting.end(),
                     [](const Part& a, const Part& b) { return a.time < b.time; });
    for (std::size_t i = 0; i < count; ++i) {
        static_cast<void>(readEvent(waiting[i].text, m_event));
        take(thread, std::move(waiting[i]), m_event);
    }
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(count));
}

void EventPairs::take(Thread& thread, Part&& part, const Event& event) {
    if (isBegin(event)) return thread.open.push_back(std::move(part));
    forget(part);
    if (thread.open.empty()) return m_listener.reject("an end without a begin");
    const auto begin = std::prev(matching(thread.open, event).base());
    forget(*begin);
    m_listener.pair(*begin, part);
    thread.open.erase(begin);
}

void EventPairs::rejectOpen(Thread& thread) {
    for (const Part& begin : thread.open) {
        forget(begin);
        m_listener.reject("a begin without an end");
    }
    thread.open.clear();
}

void EventPairs::finish() {
    for (auto& [key, thread] : m_threads) {
        release(thread, thread.waiting.size());
        rejectOpen(thread);
    }
    m_threads.clear();
}

}  // namespace shardscope::interchange::kineto
