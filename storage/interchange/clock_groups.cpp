#include "storage/interchange/clock_groups.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace shardscope::interchange {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kNearNs = 60 * kSecondNs, kNearStatedNs = 3600 * kSecondNs;

bool areNear(const InputSpan& group, const InputSpan& next) {
    const std::int64_t gap = next.firstNs - group.lastNs;
    const std::int64_t longer = std::max(group.lastNs - group.firstNs, next.lastNs - next.firstNs);
    return gap <= std::max(longer, group.stated && next.stated ? kNearStatedNs : kNearNs);
}

/// "366 days", "2 h", "90 s": for a sentence.
std::string roughly(std::int64_t ns) {
    constexpr std::array<std::pair<std::int64_t, const char*>, 3> kUnits{
        {{86'400, " days"}, {3600, " h"}, {60, " min"}}};
    const std::int64_t seconds = ns / kSecondNs;
    for (const auto& [unit, name] : kUnits)
        if (seconds >= 2 * unit) return std::to_string((seconds + unit / 2) / unit) + name;
    return std::to_string(seconds) + " s";
}

}  // namespace

ClockGroups clockGroups(const std::vector<std::optional<InputSpan>>& inputs) {
    std::vector<std::size_t> order(inputs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto rank = [&](std::size_t i) {
        return std::pair(!inputs[i], inputs[i] ? inputs[i]->firstNs : 0);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    ClockGroups groups;
    groups.of.resize(inputs.size());
    groups.zeroOf.resize(inputs.size());
    std::optional<InputSpan> group;
    for (const std::size_t i : order) {
        const std::optional<InputSpan>& next = inputs[i];
        if (!group || !next || !areNear(*group, *next)) {
            if (group && next)
                groups.widestGapNs = std::max(groups.widestGapNs, next->firstNs - group->lastNs);
            groups.firstOf.push_back(i);
            group = next;
        } else {
            group->lastNs = std::max(group->lastNs, next->lastNs);
            group->stated = group->stated && next->stated;
        }
        groups.of[i] = groups.firstOf.size() - 1;
        if (next) groups.zeroOf[i] = group->firstNs;
    }
    return groups;
}

std::string clocksShareNoStart(const ClockGroups& groups, const std::vector<std::string>& names) {
    constexpr std::size_t kMostNamed = 3;
    const std::size_t count = groups.firstOf.size();
    const std::size_t named = std::min(count, kMostNamed);
    std::string text;
    for (std::size_t i = 0; i < named; ++i) {
        const bool last = i + 1 == named && named == count;
        text += (i == 0 ? "" : last ? " and " : ", ") + names[groups.firstOf[i]];
    }
    if (count > named) text += " and " + std::to_string(count - named) + " more";
    if (groups.widestGapNs > 0)
        text += " lie " + roughly(groups.widestGapNs) + " apart";
    else
        text += " have times that cannot be set against one another";
    return text + ": their clocks share no start, so each begins at 0";
}

}  // namespace shardscope::interchange
