#include "storage/interchange/step_marks.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace shardscope::interchange {
namespace {

constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();

}  // namespace

void StepMarks::addLaunch(std::uint64_t correlation, Timestamp start) {
    auto at = m_launches.find(correlation / kBlock);
    if (at == m_launches.end()) {
        if (m_launches.size() == kMostBlocks) return;
        at = m_launches.emplace(correlation / kBlock, new std::int64_t[kBlock]).first;
        std::fill_n(at->second.get(), kBlock, kNoTime);
    }
    at->second[correlation % kBlock] = start.ns;
}

StepIndex StepMarks::at(Timestamp time) const {
    const auto behind = m_marks.upper_bound(time);
    if (behind == m_marks.begin()) return kNoStep;
    const Mark& last = std::prev(behind)->second;
    return last.range.contains(time) ? last.step : kNoStep;
}

StepIndex StepMarks::ofLaunched(std::uint64_t correlation, Timestamp start) const {
    const auto block = m_launches.find(correlation / kBlock);
    const std::int64_t launched =
        block == m_launches.end() ? kNoTime : block->second[correlation % kBlock];
    return at(launched == kNoTime ? start : Timestamp{launched});
}

}  // namespace shardscope::interchange
