// What time it is on another host: question and answer, a few times (NTP, RFC 5905, section 8).
//
// Of a question asked at t0 on our clock, received at t1 and answered at t2 on theirs, and heard of
// at t3 on ours, their clock is ahead by ((t1 - t0) + (t2 - t3)) / 2, wrong by at most half of what
// the way took, (t3 - t0) - (t2 - t1). The exchange with the shortest way counts.
//
// One thread. Times in ns.
#pragma once

#include "engine/launch/clock_model.h"
#include "engine/run/protocol/messages.h"

#include <cstdint>
#include <limits>
#include <optional>

namespace shardscope::launch {

class ClockExchange {
public:
    /// `questions` one after the other.
    explicit ClockExchange(int questions = 16) : m_left(questions) {}

    /// The next question, if one is to be asked at `nowNs`: none while an answer is awaited, and
    /// none after the last.
    [[nodiscard]] std::optional<run::ClockAsked> ask(std::int64_t nowNs);
    /// An answer that was heard of at `nowNs`; one to another question is passed over.
    void take(const run::ClockTold& told, std::int64_t nowNs);
    [[nodiscard]] bool done() const { return m_left == 0 && !m_asked; }

    /// Their clock less ours; 0 before the first answer.
    [[nodiscard]] std::int64_t aheadNs() const { return m_aheadNs; }
    /// Bound on its error; the largest number before the first answer.
    [[nodiscard]] std::int64_t errorNs() const { return m_errorNs; }
    /// The tightest bounds of all answers; nothing before the first.
    [[nodiscard]] const std::optional<ClockMeasurement>& bounds() const { return m_bounds; }

private:
    void tighten(const ClockMeasurement& answer);

    int m_left;
    std::optional<std::int64_t> m_asked;
    std::int64_t m_aheadNs = 0;
    std::int64_t m_errorNs = std::numeric_limits<std::int64_t>::max();
    std::optional<ClockMeasurement> m_bounds;
};

}  // namespace shardscope::launch
