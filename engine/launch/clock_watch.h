// Compares the clock of another host with ours again and again while its ranks run, and says what
// their times are corrected by.
//
// Eight questions one after the other, soon after the start every half second, later every four
// seconds; sooner while an answer contradicts the ones before. 1.4 KB a round, both ways.
// Recorder's loop.
#pragma once

#include "engine/launch/clock_exchange.h"
#include "engine/launch/clock_model.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/recording.h"
#include "storage/model/recording_clock.h"

#include <cstdint>
#include <optional>

namespace shardscope::launch {

/// What is known of a host's clock since a round of questions.
struct ClockUpdate {
    ClockFacts facts;
    run::ClockCorrection correction;  ///< for the host's ranks
};

class ClockWatch {
public:
    static constexpr int kQuestions = 8;

    /// `host`'s ranks have been started with `originNs`, as host clock at the recording's zero;
    /// `recordingNs` is ours. `start`: what was measured before.
    ClockWatch(std::int32_t host, std::int64_t originNs, std::int64_t recordingNs,
               const std::optional<ClockMeasurement>& start, std::int64_t nowNs);

    /// The next question, if one is to be asked at `nowNs`.
    [[nodiscard]] std::optional<run::ClockAsked> ask(std::int64_t nowNs);
    /// At the end of a round that says something: what it says.
    std::optional<ClockUpdate> take(const run::ClockTold& told, std::int64_t nowNs);

    /// One more round at once, the last.
    void askLastTime(std::int64_t nowNs);
    /// The last round is answered, or its time is up.
    [[nodiscard]] bool over(std::int64_t nowNs) const;

private:
    [[nodiscard]] std::int64_t pauseNs() const;
    void begin(std::int64_t nowNs);
    std::optional<ClockUpdate> conclude(std::int64_t nowNs);
    ClockUpdate updateOf(const ClockEstimate& estimate, std::int64_t nowNs);

    const std::int32_t m_host;
    const std::int64_t m_recordingNs;
    ClockModel m_model;
    RecordingClock m_theirs;  ///< as the host's ranks have it
    std::optional<ClockExchange> m_round;
    std::int64_t m_roundSince;  ///< when it began, or the last one ended
    int m_rounds = 0;
    bool m_last = false;
};

}  // namespace shardscope::launch
