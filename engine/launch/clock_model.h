// A host's clock against ours over the run: a line of offset and drift through what exchanges
// bound, with a bound of its own, and steps of the clock where no line explains them.
//
// A question says that the host's clock is ahead of ours by at most so much, its answer that it is
// ahead by at least so much, whatever the ways took. Over some time these bounds leave a set of
// possible lines (Duda, Harrus, Haddad, Bernard, Estimating global time in distributed systems,
// ICDCS 1987; for one-way delays Moon, Skelly, Towsley, Infocom 1999). The middle of what they
// leave is the estimate, half its width the bound: exact, as long as the clocks run evenly. Oldest
// bounds are dropped where no line is left, so a drift that changes is followed.
//
// Pure; one thread. Times in ns.
#pragma once

#include "engine/run/protocol/messages.h"
#include "storage/model/host_facts.h"
#include "storage/model/recording.h"
#include "storage/model/recording_clock.h"

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>

namespace shardscope::launch {

/// At `timeNs` of our clock theirs is ahead by no more, or no less, than `aheadNs`.
struct ClockBound {
    std::int64_t timeNs = 0;
    std::int64_t aheadNs = 0;
};

/// What one exchange says.
struct ClockMeasurement {
    ClockBound least, most;
    [[nodiscard]] std::int64_t timeNs() const;  ///< the later of the two
    [[nodiscard]] std::int64_t aheadNs() const { return least.aheadNs + widthNs() / 2; }
    [[nodiscard]] std::int64_t errorNs() const { return (widthNs() + 1) / 2; }
    /// Negative: the clock was set while it was asked.
    [[nodiscard]] std::int64_t widthNs() const { return most.aheadNs - least.aheadNs; }
};

struct ClockEstimate {
    std::int64_t timeNs = 0;   ///< of our clock
    std::int64_t aheadNs = 0;  ///< of theirs, then
    std::int64_t errorNs = 0;  ///< bound on the error of `aheadNs`
    std::int64_t driftPpb = 0;
    std::int64_t driftErrorPpb = 0;
    std::optional<std::int64_t> stepNs;  ///< the clock was set by so much since the last estimate

    [[nodiscard]] std::int64_t aheadAt(std::int64_t timeNs) const;
};

class ClockModel {
public:
    /// Most that a clock drifts; ntpd and adjtime slew by as much.
    static constexpr double kMostDrift = 500e-6;
    /// By which a drift may change from one exchange to the next without being a step.
    static constexpr double kMostChange = 100e-6;
    /// By which drifts wander all the time (temperature): what old bounds lose, ns a ns of age.
    static constexpr double kWander = 100e-9;
    /// Exchanges in a row that no line explains, and that agree with each other: a step.
    static constexpr std::size_t kSeen = 3;
    static constexpr std::size_t kKept = 16;

    /// The clock at `forNs`, soon after the measurement; times rise. Nothing where the measurement
    /// contradicts all before it, as yet once or twice.
    std::optional<ClockEstimate> add(const ClockMeasurement& measured, std::int64_t forNs);
    /// The last one was put aside: better asked again soon.
    [[nodiscard]] bool doubts() const { return !m_aside.empty(); }

private:
    struct Range {
        double least = 0, most = 0;
        [[nodiscard]] double middle() const { return least + (most - least) / 2; }
    };
    /// Of all lines that are possible: where they are at a time, and their drifts.
    struct Lines {
        Range ahead, drift;
    };
    using Window = std::deque<ClockMeasurement>;
    struct Point {
        double time, ahead;
    };
    [[nodiscard]] static std::optional<Lines> linesOf(const Window& window, std::int64_t timeNs,
                                                      std::int64_t baseNs);
    [[nodiscard]] bool contradicts(const ClockMeasurement& measured) const;
    ClockEstimate estimate(std::int64_t forNs);
    ClockEstimate restart(std::int64_t forNs);

    Window m_window;
    Window m_aside;
};

// Compares the clock of another host with ours again and again while its ranks run, and says what
// their times are corrected by.
//
// Eight questions one after the other, soon after the start every half second, later every four
// seconds; sooner while an answer contradicts the ones before. 1.4 KB a round, both ways.
// Recorder's loop.

/// What time it is on another host: question and answer, a few times (NTP, RFC 5905, section 8).
///
/// Of a question asked at t0 on our clock, received at t1 and answered at t2 on theirs, and heard
/// of at t3 on ours, their clock is ahead by ((t1 - t0) + (t2 - t3)) / 2, wrong by at most half of
/// what the way took, (t3 - t0) - (t2 - t1). The exchange with the shortest way counts.
///
/// One thread. Times in ns.
class ClockExchange {
public:
    /// `questions` one after the other.
    explicit ClockExchange(int questions = 16) : m_left(questions) {}

    /// The next question, if one is to be asked at `nowNs`: none while an answer is awaited, and
    /// none after the last.
    [[nodiscard]] std::optional<run::ClockAsked> ask(std::int64_t nowNs);
    /// An answer that was heard of at `nowNs`; one to another question is passed over.
    void take(const run::ClockAnswer& answer, std::int64_t nowNs);
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
    std::optional<ClockUpdate> take(const run::ClockAnswer& answer, std::int64_t nowNs);

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
