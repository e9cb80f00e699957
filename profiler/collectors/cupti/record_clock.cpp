#include "profiler/collectors/cupti/record_clock.h"

#include <cstdlib>
#include <ctime>
#include <limits>
#include <ranges>

namespace shardscope::collectors::cupti {
namespace {

constexpr int kReadings = 16;
constexpr std::int64_t kSmallestStepNs = 5'000;  // less than this is how samples scatter
constexpr std::int64_t kSlackNs = 10'000'000;    // records written while a sample is taken

std::int64_t read(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

ClockSample readClocks() {
    ClockSample best;
    best.width = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < kReadings; ++i) {
        const std::int64_t before = read(CLOCK_MONOTONIC);
        const std::int64_t realtime = read(CLOCK_REALTIME);
        const std::int64_t raw = read(CLOCK_MONOTONIC_RAW);
        const std::int64_t after = read(CLOCK_MONOTONIC);
        if (after - before >= best.width) continue;
        best = {realtime, before + (after - before) / 2, raw, after - before};
    }
    return best;
}

RecordClock::RecordClock(const ClockSample& first) : m_first(first), m_last(first) {
    m_segments.push_back({first.realtime - first.monotonic,
                          std::numeric_limits<std::int64_t>::min(), first.monotonic});
}

bool RecordClock::add(const ClockSample& sample) {
    Segment& current = m_segments.back();
    const std::int64_t offset = sample.realtime - sample.monotonic;
    const bool stepped =
        std::abs(offset - current.offset) > kSmallestStepNs + sample.width + m_last.width;
    // The step lies between the two samples, so both segments may hold there.
    current.until = sample.monotonic;
    if (stepped) m_segments.push_back({offset, m_last.monotonic, sample.monotonic});
    m_last = sample;
    return stepped;
}

std::int64_t RecordClock::toMonotonic(std::int64_t realtime) const {
    for (const auto& segment : std::views::reverse(m_segments)) {
        const std::int64_t time = realtime - segment.offset;
        if (time >= segment.from && time <= segment.until + kSlackNs) return time;
    }
    return realtime - m_segments.back().offset;
}

std::int64_t RecordClock::lastStep() const {
    if (m_segments.size() < 2) return 0;
    return m_segments.back().offset - m_segments[m_segments.size() - 2].offset;
}

double RecordClock::driftPpm() const {
    const auto raw = static_cast<double>(m_last.raw - m_first.raw);
    const auto slewed = static_cast<double>(m_last.monotonic - m_first.monotonic);
    return raw > 0 ? (slewed - raw) / raw * 1e6 : 0;
}

}  // namespace shardscope::collectors::cupti
