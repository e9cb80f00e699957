#include "profiler/analysis/intervals.h"

#include <algorithm>

namespace shardscope::analysis {

Intervals unionOf(std::vector<TimeRange> ranges) {
    std::erase_if(ranges, [](const TimeRange& range) { return range.empty(); });
    std::sort(ranges.begin(), ranges.end(),
              [](const TimeRange& a, const TimeRange& b) { return a.begin < b.begin; });
    Intervals set;
    for (const TimeRange& range : ranges) {
        if (!set.empty() && range.begin <= set.back().end)
            set.back().end = std::max(set.back().end, range.end);
        else
            set.push_back(range);
    }
    return set;
}

Intervals intersection(const Intervals& a, const Intervals& b) {
    Intervals set;
    auto left = a.begin();
    auto right = b.begin();
    while (left != a.end() && right != b.end()) {
        const TimeRange common = left->intersection(*right);
        if (!common.empty()) set.push_back(common);
        if (left->end < right->end)
            ++left;
        else
            ++right;
    }
    return set;
}

Intervals difference(const Intervals& a, const Intervals& b) {
    Intervals set;
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

}  // namespace shardscope::analysis
