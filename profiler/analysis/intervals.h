// Sets of half-open intervals: sorted, disjoint, none empty. Pure functions, linear after sorting.
#pragma once

#include "storage/model/recording.h"
#include "storage/model/units.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace shardscope::analysis {

using Intervals = std::vector<TimeRange>;

/// Any intervals, in any order, as a set.
[[nodiscard]] Intervals unionOf(std::vector<TimeRange> ranges);
/// The rest take sets and give sets.
[[nodiscard]] Intervals unionOf(const Intervals& a, const Intervals& b);
[[nodiscard]] Intervals intersection(const Intervals& a, const Intervals& b);
[[nodiscard]] Intervals difference(const Intervals& a, const Intervals& b);
[[nodiscard]] Duration total(const Intervals& set);
/// Of what both have.
[[nodiscard]] Duration common(const Intervals& a, const Intervals& b);
/// Of what lies within the range; by binary search.
[[nodiscard]] Duration total(const Intervals& set, TimeRange range);

/// How much of many ranges a set covers. Fastest where each range is near the one before. One
/// thread.
class Coverage {
public:
    explicit Coverage(Intervals set);
    /// Of the range, as total(set, range).
    [[nodiscard]] Duration within(TimeRange range);
    [[nodiscard]] bool empty() const { return m_set.empty(); }

private:
    /// How many intervals have ended by `time`, looked for around `near`.
    [[nodiscard]] std::size_t endedBy(Timestamp time, std::size_t near) const;
    [[nodiscard]] Duration before(Timestamp time, std::size_t& near) const;

    Intervals m_set;
    std::vector<Duration> m_before;  ///< of the intervals up to each
    std::size_t m_begin = 0, m_end = 0;
};

// Which ranks form a group: a recording names groups, and its ranks took part in them.

/// Ranks that recorded a collective of `group`, ascending, which is the order of a group's places.
/// The world: the ranks of the recording. Empty where none did.
[[nodiscard]] std::vector<RankId> groupMembers(const std::vector<RankEvents>& ranks,
                                               std::uint32_t group);

/// All groups of a recording, looked up once.
class Groups {
public:
    explicit Groups(const std::vector<RankEvents>& ranks);
    /// As groupMembers() gives them; any thread.
    [[nodiscard]] const std::vector<RankId>& of(std::uint32_t group) const;

private:
    std::map<std::uint32_t, std::vector<RankId>> m_members;
    std::vector<RankId> m_nobody;
};

}  // namespace shardscope::analysis
