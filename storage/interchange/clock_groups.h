// Which inputs of one recording are on one clock: those without a relation must not be put on one
// axis as if they had one. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::interchange {

/// When an input's events are, in nanoseconds of the clock that inputs of one run share.
struct InputSpan {
    std::int64_t firstNs = 0, lastNs = 0;
    bool stated = false;  ///< it says what its clock counts from
};

struct ClockGroups {
    std::vector<std::size_t> of;                      ///< group of each input
    std::vector<std::optional<std::int64_t>> zeroOf;  ///< earliest time of each input's group
    std::vector<std::size_t> firstOf;                 ///< an input of each group
    std::int64_t widestGapNs = 0;                     ///< between groups that are known
    [[nodiscard]] bool areOne() const { return firstOf.size() <= 1; }
};

/// Inputs belong together where they overlap, or lie no further apart than the longer is long, or
/// than a minute; than an hour where both say what their clocks count from, as the distance is true
/// then. One whose times are not known (nothing) is a group of its own.
[[nodiscard]] ClockGroups clockGroups(const std::vector<std::optional<InputSpan>>& inputs);

/// "a.json and b.sqlite lie 366 days apart: their clocks share no start, so each begins at 0".
[[nodiscard]] std::string clocksShareNoStart(const ClockGroups& groups,
                                             const std::vector<std::string>& names);

inline constexpr const char* kClocksUnrelated = "clocks-unrelated";
inline constexpr const char* kClocksUnrelatedAdvice =
    "times of one say nothing about another: import them into recordings of their own";

}  // namespace shardscope::interchange
