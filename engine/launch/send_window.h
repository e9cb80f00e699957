// How much of a stream may be on its way, so that what is urgent does not wait behind it: half a
// second's worth of what the other end takes in, but never less than keeps a quick link busy.
//
// One thread. Sizes in bytes since the beginning.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace shardscope::launch {

class SendWindow {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::int64_t kLeast = 256 << 10;
    static constexpr std::chrono::milliseconds kWorth{500};

    explicit SendWindow(Clock::time_point now) : m_since(now) {}

    void noteSent(std::int64_t bytes) { m_sent += bytes; }
    /// The other end has taken in `total` so far; it cannot take what was not sent.
    void noteTaken(std::int64_t total, Clock::time_point now) {
        m_taken = std::clamp(total, m_taken, m_sent);
        if (now - m_since < kWorth) return;
        // What was taken in about half a second is what half a second is worth.
        const double parts = std::chrono::duration<double>(now - m_since) / kWorth;
        m_size = std::max(
            kLeast, static_cast<std::int64_t>(static_cast<double>(m_taken - m_takenThen) / parts));
        m_since = now;
        m_takenThen = m_taken;
    }
    [[nodiscard]] bool open() const { return m_sent - m_taken < m_size; }
    [[nodiscard]] std::int64_t size() const { return m_size; }

private:
    std::int64_t m_sent = 0;
    std::int64_t m_taken = 0;
    std::int64_t m_takenThen = 0;  ///< at m_since
    std::int64_t m_size = kLeast;
    Clock::time_point m_since;
};

}  // namespace shardscope::launch
