// Begins and ends of a trace, paired by time, wherever in the file they stand: B and E within each
// thread, b and e (S and F of old) of asynchronous work within each id.
//
// Most traces have them in order, so that each can be paired as it comes. Where one is not, all of
// the trace is read once more, and they wait for their order.
#pragma once

#include "storage/interchange/kineto/in/event.h"
#include "storage/model/units.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace shardscope::interchange::kineto {

class EventPairs {
public:
    /// A begin or an end; `text` is all of the event.
    struct Part {
        Timestamp time;
        std::string text;
    };
    struct Listener {
        std::function<void(const Part& begin, const Part& end)> pair;
        std::function<void(const char* reason)> reject;  ///< a part that has no other
    };
    /// `sorts`: they wait for their order, in bounded memory.
    EventPairs(Listener listener, bool sorts) : m_listener(std::move(listener)), m_sorts(sorts) {}

    void add(const Event& event, Timestamp time);
    [[nodiscard]] static bool isBegin(const Event& event);
    /// Of an asynchronous event: what those of one id have in common.
    [[nodiscard]] static std::string asyncKey(const Event& event);
    /// Some came after a later one of their thread or id, and was paired as it came.
    [[nodiscard]] bool disordered() const { return m_disordered; }
    /// Pairs what waits.
    void finish();

private:
    /// Beyond, the earliest half of each thread's is used, and what is open then is given up.
    static constexpr std::size_t kMostBytes = std::size_t{64} << 20;
    struct Thread {
        std::vector<Part> waiting;
        std::vector<Part> open;  ///< begun, innermost last
        Timestamp latest{std::numeric_limits<std::int64_t>::min()};
    };
    /// Taken in the order of their times.
    void take(Thread& thread, Part&& part, const Event& event);
    void release(Thread& thread, std::size_t count);
    void rejectOpen(Thread& thread);
    [[nodiscard]] static std::vector<Part>::reverse_iterator matching(std::vector<Part>& open,
                                                                      const Event& end);
    void forget(const Part& part);

    Listener m_listener;
    bool m_sorts;
    bool m_disordered = false;
    std::map<std::string, Thread, std::less<>> m_threads;
    std::size_t m_bytes = 0;
    Event m_event;
};

}  // namespace shardscope::interchange::kineto
