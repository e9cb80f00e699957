// Begins and ends of a trace, paired by time, wherever in the file they stand: B and E within each
// thread, b and e (S and F of old) of asynchronous work within each id.
#pragma once

#include "storage/interchange/kineto/in/event.h"
#include "storage/model/units.h"

#include <cstddef>
#include <cstdint>
#include <functional>
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
    explicit EventPairs(Listener listener) : m_listener(std::move(listener)) {}

    void add(const Event& event, Timestamp time);
    [[nodiscard]] static bool isBegin(const Event& event);
    /// Of an asynchronous event: what those of one id have in common.
    [[nodiscard]] static std::string asyncKey(const Event& event);
    /// Pairs what waits.
    void finish();

private:
    /// Beyond, the earliest half of each thread's is used, and what is open then is given up.
    static constexpr std::size_t kMostBytes = std::size_t{64} << 20;
    struct Thread {
        std::vector<Part> waiting;
        std::vector<Part> open;  ///< begun, innermost last
    };
    void release(Thread& thread, std::size_t count);
    void rejectOpen(Thread& thread);
    [[nodiscard]] static std::vector<Part>::reverse_iterator matching(std::vector<Part>& open,
                                                                      const Event& end);
    void forget(const Part& part);

    Listener m_listener;
    std::map<std::string, Thread, std::less<>> m_threads;
    std::size_t m_bytes = 0;
    Event m_event;
};

}  // namespace shardscope::interchange::kineto
