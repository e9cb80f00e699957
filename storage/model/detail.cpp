#include "storage/model/detail.h"

#include "storage/model/quantity_text.h"

#include <algorithm>
#include <set>

namespace shardscope {

StepDetail::StepDetail(const std::vector<DetailFacts>& rows) {
    std::map<RankId, std::vector<const DetailFacts*>> byRank;
    for (const DetailFacts& row : rows)
        if (row.last >= row.first) byRank[row.rank].push_back(&row);
    for (auto& [rank, own] : byRank) {
        std::sort(own.begin(), own.end(),
                  [](const DetailFacts* a, const DetailFacts* b) { return a->first < b->first; });
        // A sweep over the ends: the lowest level in force counts.
        std::multiset<CaptureLevel> inForce;
        std::multimap<std::int64_t, CaptureLevel> ends;
        Levels& levels = m_byRank[rank];
        const auto note = [&](std::int64_t step) {
            levels[step] = inForce.empty() ? CaptureLevel::kFull : *inForce.begin();
        };
        const auto endUntil = [&](std::int64_t step) {
            while (!ends.empty() && ends.begin()->first <= step) {
                const auto [end, level] = *ends.begin();
                ends.erase(ends.begin());
                inForce.erase(inForce.find(level));
                note(end);
            }
        };
        for (const DetailFacts* row : own) {
            endUntil(row->first.value);
            inForce.insert(row->level);
            ends.emplace(std::int64_t{row->last.value} + 1, row->level);
            note(row->first.value);
        }
        endUntil(std::int64_t{1} << 32);
    }
}

CaptureLevel StepDetail::of(RankId rank, StepIndex step) const {
    const auto levels = m_byRank.find(rank);
    if (levels == m_byRank.end()) return CaptureLevel::kFull;
    const auto next = levels->second.upper_bound(std::int64_t{step.value});
    return next == levels->second.begin() ? CaptureLevel::kFull : std::prev(next)->second;
}

namespace {

/// Adds up stretches of steps of all ranks, which lie in any order.
void sumUp(std::vector<std::pair<std::int64_t, std::int64_t>>& stretches, DetailGroup& group) {
    std::sort(stretches.begin(), stretches.end());
    std::int64_t end = stretches.front().first - 2;  // last step that is counted
    for (const auto& [first, last] : stretches) {
        if (first > end + 1) ++group.stretches;
        group.steps += std::max<std::int64_t>(0, last - std::max(first - 1, end));
        end = std::max(end, last);
    }
    group.first = {static_cast<std::int32_t>(stretches.front().first)};
    group.last = {static_cast<std::int32_t>(end)};
}

}  // namespace

std::vector<DetailGroup> groupDetail(const std::vector<DetailFacts>& rows) {
    using Key = std::pair<CaptureLevel, DetailReason>;
    std::map<Key, DetailGroup> groups;
    std::map<Key, std::vector<std::pair<std::int64_t, std::int64_t>>> stretches;
    for (const DetailFacts& row : rows) {
        if (row.last < row.first) continue;
        const Key key{row.level, row.reason};
        DetailGroup& group = groups[key];
        group.level = row.level;
        group.reason = row.reason;
        group.removed += row.removed.value_or(0);
        group.counted = group.counted && row.removed.has_value();
        stretches[key].emplace_back(row.first.value, row.last.value);
    }
    std::vector<DetailGroup> all;
    for (auto& [key, group] : groups) {
        sumUp(stretches[key], group);
        all.push_back(group);
    }
    return all;
}

std::string phraseOf(const DetailGroup& group) {
    const std::string first = std::to_string(group.first.value);
    const std::string last = std::to_string(group.last.value);
    std::string phrase = "detail of ";
    if (group.stretches > 1)
        phrase.append(grouped(group.steps)).append(" of steps ");
    else
        phrase.append(group.first == group.last ? "step " : "steps ");
    phrase.append(first);
    if (group.first != group.last) phrase.append(" to ").append(last);
    phrase.append(" ").append(fateOf(group.reason));
    phrase.append(isThinned(group.reason) ? " to level " : ", only level ");
    phrase.append(toWord(group.level));
    phrase.append(isThinned(group.reason) ? " by " : ": ").append(toWord(group.reason));
    return phrase;
}

std::vector<std::string> detailPhrases(const std::vector<DetailFacts>& rows) {
    std::vector<std::string> phrases;
    for (const DetailGroup& group : groupDetail(rows)) phrases.push_back(phraseOf(group));
    return phrases;
}

Timestamp thinnedUntil(const std::vector<DetailFacts>& rows, RankId rank, bool fullOnly) {
    Timestamp until = kBeginningOfTime;
    for (const DetailFacts& row : rows) {
        if (row.rank != rank || !isThinned(row.reason)) continue;
        if (fullOnly || row.level <= CaptureLevel::kSteps) until = std::max(until, row.range.end);
    }
    return until;
}

}  // namespace shardscope
