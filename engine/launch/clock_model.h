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

#include <cstdint>
#include <deque>
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

}  // namespace shardscope::launch
