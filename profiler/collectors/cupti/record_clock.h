// From the clock of CUPTI's records to the recording's host clock.
//
// CUPTI stamps with CLOCK_REALTIME, everything else here with CLOCK_MONOTONIC, which never
// jumps and which all processes of a host share. NTP slews both alike, so they differ by a
// constant until the time is set; then a new segment begins and each record is converted
// by the segment it falls into. CLOCK_MONOTONIC_RAW, which is never slewed, tells the drift.
#pragma once

#include <cstdint>
#include <vector>

namespace shardscope::collectors::cupti {

/// Three clocks read as one, ns. `width`: the time the reading took, the bound of its error.
struct ClockSample {
    std::int64_t realtime = 0;
    std::int64_t monotonic = 0;
    std::int64_t raw = 0;
    std::int64_t width = 0;
};

/// The narrowest of several readings; about 2 us.
[[nodiscard]] ClockSample readClocks();

/// One thread.
class RecordClock {
public:
    explicit RecordClock(const ClockSample& first);

    /// At each flush, before its records are converted. True: the clock was set since the last.
    bool add(const ClockSample& sample);
    [[nodiscard]] std::int64_t toMonotonic(std::int64_t realtime) const;

    [[nodiscard]] std::uint64_t steps() const { return m_segments.size() - 1; }
    /// How far the last step went, forwards positive, ns.
    [[nodiscard]] std::int64_t lastStep() const;
    /// How much faster than the oscillator the host's clock is made to run since the first
    /// sample, parts per million.
    [[nodiscard]] double driftPpm() const;

private:
    struct Segment {
        std::int64_t offset = 0;  ///< REALTIME - MONOTONIC
        std::int64_t from = 0;    ///< earliest and latest MONOTONIC time it may hold for
        std::int64_t until = 0;
    };
    ClockSample m_first;
    ClockSample m_last;
    std::vector<Segment> m_segments;
};

}  // namespace shardscope::collectors::cupti
