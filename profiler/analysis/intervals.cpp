#include "profiler/analysis/intervals.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace shardscope::analysis {
namespace {

bool beginsBefore(const TimeRange& a, const TimeRange& b) {
    return a.begin < b.begin;
}

/// Events come lane by lane, each in order: a few runs in order are merged faster than sorted.
constexpr std::size_t kFewRuns = 64;

/// Ends of the runs in order; not to the last one where there are more than a few.
std::vector<std::size_t> runsOf(const std::vector<TimeRange>& ranges) {
    std::vector<std::size_t> ends;
    for (std::size_t i = 1; i < ranges.size() && ends.size() <= kFewRuns; ++i)
        if (beginsBefore(ranges[i], ranges[i - 1])) ends.push_back(i);
    ends.push_back(ranges.size());
    return ends;
}

void sortByBegin(std::vector<TimeRange>& ranges) {
    std::vector<std::size_t> ends = runsOf(ranges);
    if (ends.size() > kFewRuns) {
        std::sort(ranges.begin(), ranges.end(), beginsBefore);
        return;
    }
    const auto at = [&](std::size_t place) {
        return ranges.begin() + static_cast<std::ptrdiff_t>(place);
    };
    while (ends.size() > 1) {
        std::vector<std::size_t> merged;
        std::size_t begin = 0;
        for (std::size_t i = 0; i + 1 < ends.size(); i += 2) {
            std::inplace_merge(at(begin), at(ends[i]), at(ends[i + 1]), beginsBefore);
            merged.push_back(begin = ends[i + 1]);
        }
        if (merged.empty() || merged.back() != ends.back()) merged.push_back(ends.back());
        ends = std::move(merged);
    }
}

/// Of ranges by their begin.
Intervals joined(std::vector<TimeRange> ranges) {
    std::size_t kept = 0;  // of the union, in place of what has been looked at
    for (const TimeRange range : ranges) {
        if (kept > 0 && range.begin <= ranges[kept - 1].end)
            ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
        else
            ranges[kept++] = range;
    }
    ranges.resize(kept);
    return ranges;
}

/// Stretches of both, in order.
template <class Take>
void eachCommon(const Intervals& a, const Intervals& b, Take take) {
    auto left = a.begin();
    auto right = b.begin();
    while (left != a.end() && right != b.end()) {
        const TimeRange both = left->intersection(*right);
        if (!both.empty()) take(both);
        if (left->end < right->end)
            ++left;
        else
            ++right;
    }
}

std::set<std::uint32_t> groupsOf(const RankEvents& events) {
    std::set<std::uint32_t> groups{0};
    std::uint32_t last = 0;
    for (const CollectiveEvent& event : events.collectives) {
        if (event.group == last) continue;
        last = event.group;
        groups.insert(last);
    }
    return groups;
}

}  // namespace

Intervals unionOf(std::vector<TimeRange> ranges) {
    std::erase_if(ranges, [](const TimeRange& range) { return range.empty(); });
    sortByBegin(ranges);
    return joined(std::move(ranges));
}

Intervals unionOf(const Intervals& a, const Intervals& b) {
    std::vector<TimeRange> ranges(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), ranges.begin(), beginsBefore);
    return joined(std::move(ranges));
}

Intervals intersection(const Intervals& a, const Intervals& b) {
    Intervals set;
    set.reserve(std::max(a.size(), b.size()));
    eachCommon(a, b, [&](TimeRange range) { set.push_back(range); });
    return set;
}

Duration common(const Intervals& a, const Intervals& b) {
    Duration sum;
    eachCommon(a, b, [&](TimeRange range) { sum += range.duration(); });
    return sum;
}

Intervals difference(const Intervals& a, const Intervals& b) {
    Intervals set;
    set.reserve(a.size());
    auto hole = b.begin();
    for (TimeRange rest : a) {
        while (hole != b.end() && hole->end <= rest.begin) ++hole;
        for (auto cut = hole; cut != b.end() && cut->begin < rest.end; ++cut) {
            if (rest.begin < cut->begin) set.push_back({rest.begin, cut->begin});
            rest.begin = std::max(rest.begin, cut->end);
        }
        if (!rest.empty()) set.push_back(rest);
    }
    return set;
}

Duration total(const Intervals& set) {
    Duration sum;
    for (const TimeRange& range : set) sum += range.duration();
    return sum;
}

Duration total(const Intervals& set, TimeRange range) {
    auto next = std::lower_bound(
        set.begin(), set.end(), range.begin,
        [](const TimeRange& candidate, Timestamp time) { return candidate.end <= time; });
    Duration sum;
    for (; next != set.end() && next->begin < range.end; ++next)
        sum += next->intersection(range).duration();
    return sum;
}

Coverage::Coverage(Intervals set) : m_set(std::move(set)) {
    m_before.reserve(m_set.size() + 1);
    m_before.push_back({});
    for (const TimeRange& range : m_set) m_before.push_back(m_before.back() + range.duration());
}

std::size_t Coverage::endedBy(Timestamp time, std::size_t near) const {
    const auto ended = [&](std::size_t place) { return m_set[place].end <= time; };
    // Doubling steps from where the last one was, and a binary search in the last of them.
    std::size_t low = std::min(near, m_set.size()), high = low;
    for (std::size_t stride = 1; high < m_set.size() && ended(high); stride *= 2) {
        low = high + 1;
        high = std::min(m_set.size(), high + stride);
    }
    for (std::size_t stride = 1; low > 0 && !ended(low - 1); stride *= 2) {
        high = low - 1;
        low -= std::min(low, stride);
    }
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (ended(middle))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

Duration Coverage::before(Timestamp time, std::size_t& near) const {
    near = endedBy(time, near);
    Duration sum = m_before[near];
    if (near < m_set.size() && m_set[near].begin < time) sum += time - m_set[near].begin;
    return sum;
}

Duration Coverage::within(TimeRange range) {
    if (range.empty()) return {};
    const Duration begin = before(range.begin, m_begin);
    m_end = std::max(m_end, m_begin);
    return before(range.end, m_end) - begin;
}

std::vector<RankId> groupMembers(const std::vector<RankEvents>& ranks, std::uint32_t group) {
    std::vector<RankId> members;
    for (const RankEvents& events : ranks) {
        const bool takesPart =
            group == 0 || std::any_of(events.collectives.begin(), events.collectives.end(),
                                      [group](const auto& each) { return each.group == group; });
        if (takesPart) members.push_back(events.rank);
    }
    std::sort(members.begin(), members.end());
    return members;
}

Groups::Groups(const std::vector<RankEvents>& ranks) {
    for (const RankEvents& events : ranks)
        for (const std::uint32_t group : groupsOf(events)) m_members[group].push_back(events.rank);
    for (auto& [group, members] : m_members) std::sort(members.begin(), members.end());
}

const std::vector<RankId>& Groups::of(std::uint32_t group) const {
    const auto found = m_members.find(group);
    return found == m_members.end() ? m_nobody : found->second;
}

}  // namespace shardscope::analysis
