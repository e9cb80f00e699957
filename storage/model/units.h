// Units as types: instants, durations and sizes cannot be mixed by accident.
//
// All times are int64 nanoseconds on the recording's clock, whose zero is the moment
// `shardscope record` created the recording. Intervals are half-open.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

namespace shardscope {

struct Duration {
    std::int64_t ns = 0;

    friend constexpr auto operator<=>(Duration, Duration) = default;
    friend constexpr Duration operator+(Duration a, Duration b) { return {a.ns + b.ns}; }
    friend constexpr Duration operator-(Duration a, Duration b) { return {a.ns - b.ns}; }
    constexpr Duration& operator+=(Duration other) {
        ns += other.ns;
        return *this;
    }
    constexpr Duration& operator-=(Duration other) {
        ns -= other.ns;
        return *this;
    }
    [[nodiscard]] constexpr double seconds() const { return static_cast<double>(ns) * 1e-9; }
    [[nodiscard]] constexpr double milliseconds() const { return static_cast<double>(ns) * 1e-6; }
};

struct Timestamp {
    std::int64_t ns = 0;

    friend constexpr auto operator<=>(Timestamp, Timestamp) = default;
    // Said, as nvcc loses the one that <=> implies where an inline function compares.
    friend constexpr bool operator==(Timestamp, Timestamp) = default;
    friend constexpr Timestamp operator+(Timestamp t, Duration d) { return {t.ns + d.ns}; }
    friend constexpr Timestamp operator-(Timestamp t, Duration d) { return {t.ns - d.ns}; }
    friend constexpr Duration operator-(Timestamp a, Timestamp b) { return {a.ns - b.ns}; }
    [[nodiscard]] constexpr double seconds() const { return static_cast<double>(ns) * 1e-9; }
};

/// [begin, end)
struct TimeRange {
    Timestamp begin;
    Timestamp end;

    friend constexpr bool operator==(const TimeRange&, const TimeRange&) = default;
    [[nodiscard]] constexpr Duration duration() const { return end - begin; }
    [[nodiscard]] constexpr bool empty() const { return end <= begin; }
    [[nodiscard]] constexpr bool contains(Timestamp t) const { return begin <= t && t < end; }
    [[nodiscard]] constexpr bool intersects(const TimeRange& other) const {
        return begin < other.end && other.begin < end;
    }
    [[nodiscard]] constexpr TimeRange intersection(const TimeRange& other) const {
        return {std::max(begin, other.begin), std::min(end, other.end)};
    }
};

struct Bytes {
    std::int64_t count = 0;

    friend constexpr auto operator<=>(Bytes, Bytes) = default;
    friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
    friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
    constexpr Bytes& operator+=(Bytes other) {
        count += other.count;
        return *this;
    }
    constexpr Bytes& operator-=(Bytes other) {
        count -= other.count;
        return *this;
    }
    [[nodiscard]] constexpr double mebibytes() const {
        return static_cast<double>(count) / 1048576.0;
    }
};

}  // namespace shardscope
