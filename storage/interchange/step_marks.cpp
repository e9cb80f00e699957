#include "storage/interchange/step_marks.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace shardscope::interchange {
namespace {

constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();
/// Asked for, when no launch was known.
constexpr std::int64_t kAsked = kNoTime + 1;

}  // namespace

/// Null where it cannot be kept.
std::int64_t* StepMarks::placeOf(std::uint64_t correlation) {
    if (correlation == 0 || correlation >= kMostCorrelation) return nullptr;
    auto at = m_launches.find(correlation / kBlock);
    if (at == m_launches.end()) {
        if (m_launches.size() == kMostBlocks) return nullptr;
        at = m_launches.emplace(correlation / kBlock, new std::int64_t[kBlock]).first;
        std::fill_n(at->second.get(), kBlock, kNoTime);
    }
    return &at->second[correlation % kBlock];
}

void StepMarks::addLaunch(std::uint64_t correlation, Timestamp start) {
    std::int64_t* const place = placeOf(correlation);
    if (place == nullptr) return;
    m_late = m_late || *place == kAsked;
    *place = start.ns;
}

void StepMarks::shift(Duration by) {
    ByBegin marks;
    for (const auto& [begin, mark] : m_marks)
        marks.emplace(begin + by, Mark{mark.step, {mark.range.begin + by, mark.range.end + by}});
    m_marks = std::move(marks);
    for (auto& [block, launches] : m_launches)
        for (std::size_t i = 0; i < kBlock; ++i)
            if (launches[i] > kAsked) launches[i] += by.ns;
}

StepIndex StepMarks::at(Timestamp time) const {
    const auto behind = m_marks.upper_bound(time);
    if (behind == m_marks.begin()) return kNoStep;
    const Mark& last = std::prev(behind)->second;
    return last.range.contains(time) ? last.step : kNoStep;
}

StepIndex StepMarks::ofLaunched(std::uint64_t correlation, Timestamp start) {
    std::int64_t* const place = placeOf(correlation);
    if (place == nullptr || *place <= kAsked) {
        if (place != nullptr) *place = kAsked;
        return at(start);
    }
    return at(Timestamp{*place});
}

}  // namespace shardscope::interchange
