// As cudaEvent_t: whoever waits, waits for the last record before the call.
//
// What a capture records is known to that capture only, until the event is recorded elsewhere.
#pragma once

#include "storage/model/host_clock.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

namespace shardscope::test {

class FakeEvent {
public:
    /// Where a capture recorded it.
    struct Captured {
        std::uint64_t capture = 0;  ///< 0: its last record was outside of any
        std::size_t signal = 0;
    };

    std::uint64_t request() {
        const std::lock_guard lock(m_mutex);
        m_captured = {};
        return ++m_requested;
    }
    void reach(std::uint64_t number) {
        {
            const std::lock_guard lock(m_mutex);
            m_reached = number;
            m_timeNs = hostNow();
        }
        m_changed.notify_all();
    }
    void capture(Captured captured) {
        const std::lock_guard lock(m_mutex);
        m_captured = captured;
    }
    Captured captured() {
        const std::lock_guard lock(m_mutex);
        return m_captured;
    }
    std::uint64_t requested() {
        const std::lock_guard lock(m_mutex);
        return m_requested;
    }
    void await(std::uint64_t number) {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [&] { return m_reached >= number; });
    }
    bool reached() {
        const std::lock_guard lock(m_mutex);
        return m_reached >= m_requested;
    }
    /// Nothing before it was recorded and reached.
    std::optional<std::int64_t> timeNs() {
        const std::lock_guard lock(m_mutex);
        if (m_requested == 0 || m_reached < m_requested) return std::nullopt;
        return m_timeNs;
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
    Captured m_captured;
    std::uint64_t m_requested = 0, m_reached = 0;
    std::int64_t m_timeNs = 0;
};

}  // namespace shardscope::test
