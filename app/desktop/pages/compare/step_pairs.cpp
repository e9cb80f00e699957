#include "app/desktop/pages/compare/step_pairs.h"

#include "app/desktop/models/format.h"
#include "storage/model/detail.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace shardscope::desktop {
namespace {

QString tr(const char* text) {
    return QCoreApplication::translate("StepPairs", text);
}

using Steps = std::map<std::int32_t, TimeRange>;

Steps stepsOf(const RecordingSummary& summary, RankId rank) {
    Steps steps;
    for (const StepFacts& step : summary.steps)
        if (step.rank == rank) steps.emplace(step.step.value, step.range());
    return steps;
}

std::optional<TimeRange> rangeIn(const Steps& steps, std::int32_t number, Timestamp origin) {
    const auto found = steps.find(number);
    if (found == steps.end()) return std::nullopt;
    const TimeRange& range = found->second;
    return TimeRange{Timestamp{} + (range.begin - origin), Timestamp{} + (range.end - origin)};
}

QString changeText(Duration before, Duration after) {
    const QString change = formatSignedDuration(after - before);
    if (before.ns <= 0) return change;
    const double share = static_cast<double>((after - before).ns) / static_cast<double>(before.ns);
    return tr("%1 (%2)").arg(change, formatSignedPercent(share));
}

/// The step beside the median of those of which most is recorded in both.
std::int32_t medianOf(const Steps& both, const RecordingSummary& baseline,
                      const RecordingSummary& judged, RankId rank, std::int32_t shift) {
    const StepDetail before(baseline.detail), after(judged.detail);
    std::map<CaptureLevel, std::vector<std::pair<std::int64_t, std::int32_t>>> byLevel;
    for (const auto& [number, range] : both) {
        const auto level =
            std::min(before.of(rank, StepIndex{number}), after.of(rank, StepIndex{number + shift}));
        byLevel[level].emplace_back(range.duration().ns, number);
    }
    auto& best = byLevel.rbegin()->second;
    const auto middle = best.begin() + static_cast<std::ptrdiff_t>(best.size() / 2);
    std::nth_element(best.begin(), middle, best.end());
    return middle->second;
}

}  // namespace

std::vector<RankId> ranksOfBoth(const RecordingSummary& baseline, const RecordingSummary& judged) {
    std::vector<RankId> ranks;
    for (const RankFacts& rank : baseline.ranks) {
        const bool inBoth = std::any_of(judged.ranks.begin(), judged.ranks.end(),
                                        [&](const auto& each) { return each.rank == rank.rank; });
        if (inBoth) ranks.push_back(rank.rank);
    }
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

std::optional<StepMatch> matchSteps(const RecordingSummary& baseline,
                                    const RecordingSummary& judged, RankId rank) {
    const Steps before = stepsOf(baseline, rank), after = stepsOf(judged, rank);
    if (before.empty() || after.empty()) return std::nullopt;
    const auto bothAt = [&](std::int32_t shift) {
        Steps both;  // with the times of the judged run
        for (const auto& [number, range] : before)
            if (const auto found = after.find(number + shift); found != after.end())
                both.emplace(number, found->second);
        return both;
    };
    StepMatch match;
    Steps both = bothAt(0);
    if (both.empty()) {
        match.shift = after.begin()->first - before.begin()->first;
        both = bothAt(match.shift);
    }
    match.steps = {StepIndex{both.begin()->first}, StepIndex{both.rbegin()->first}};
    const std::int32_t median = medianOf(both, baseline, judged, rank, match.shift);
    match.usual = {StepIndex{std::max(median - 1, match.steps.first.value)},
                   StepIndex{std::min(median + 1, match.steps.last.value)}};
    return match;
}

StepPairs pairSteps(const RecordingSummary& baseline, const RecordingSummary& judged, RankId rank,
                    StepSpan steps, std::int32_t shift) {
    const Steps before = stepsOf(baseline, rank), after = stepsOf(judged, rank);
    StepPairs made;
    const auto firstOf = [](const Steps& all, std::int32_t number) {
        const auto found = all.lower_bound(number);
        return found == all.end() ? Timestamp{} : found->second.begin;
    };
    made.baselineOrigin = firstOf(before, steps.first.value);
    made.judgedOrigin = firstOf(after, steps.first.value + shift);
    for (std::int32_t number = steps.first.value; number <= steps.last.value; ++number) {
        StepPair pair{StepIndex{number}, StepIndex{number + shift},
                      rangeIn(before, number, made.baselineOrigin),
                      rangeIn(after, number + shift, made.judgedOrigin)};
        if (!pair.baseline && !pair.judged) continue;
        for (const auto& range : {pair.baseline, pair.judged})
            if (range) made.longest = std::max(made.longest, range->end - Timestamp{});
        made.pairs.push_back(pair);
    }
    return made;
}

QString differenceText(const StepPair& pair) {
    if (!pair.baseline || !pair.judged) return {};
    return changeText(pair.baseline->duration(), pair.judged->duration());
}

QString pairText(const StepPair& pair, const QString& baseline, const QString& judged) {
    const auto side = [](const QString& letter, const std::optional<TimeRange>& range) {
        return range ? tr("%1 %2").arg(letter, formatDuration(range->duration()))
                     : tr("%1 lacks it").arg(letter);
    };
    QStringList parts{pair.before == pair.after
                          ? tr("step %1").arg(pair.before.value)
                          : tr("steps %1 and %2").arg(pair.before.value).arg(pair.after.value),
                      side(baseline, pair.baseline), side(judged, pair.judged)};
    const QString difference = differenceText(pair);
    if (!difference.isEmpty()) parts << difference;
    return parts.join(QStringLiteral(" · "));
}

QString sumText(const StepPairs& pairs, const QString& baseline, const QString& judged) {
    Duration before, after;
    std::int64_t count = 0;
    for (const StepPair& pair : pairs.pairs) {
        if (!pair.baseline || !pair.judged) continue;
        before += pair.baseline->duration();
        after += pair.judged->duration();
        ++count;
    }
    if (count == 0) return {};
    return tr("%1 together: %2 %3, %4 %5, %6.")
        .arg(formatCounted(count, "step"), baseline, formatDuration(before), judged,
             formatDuration(after), changeText(before, after));
}

std::optional<TimelineHit> samePart(const TimelineHit& part, TimeRange step,
                                    const TimelineFrame& other, TimeRange there) {
    const LaneFrame* lane = other.lane(part.key);
    if (lane == nullptr || part.slice.count != 1 || step.empty()) return std::nullopt;
    const auto course = [](TimeRange within, Timestamp time) {
        return static_cast<double>((time - within.begin).ns) /
               static_cast<double>(std::max<std::int64_t>(1, within.duration().ns));
    };
    const auto kindOf = [](const SliceView& slice) {
        return std::tie(slice.name, slice.layer, slice.phase, slice.depth);
    };
    const double wanted = course(step, part.slice.range.begin);
    const SliceView* nearest = nullptr;
    double least = 0;
    for (const SliceView& slice : lane->slices) {
        const bool same = slice.count == 1 && kindOf(slice) == kindOf(part.slice) &&
                          slice.range.begin >= there.begin && slice.range.begin < there.end;
        if (!same) continue;
        const double apart = std::abs(course(there, slice.range.begin) - wanted);
        if (nearest != nullptr && apart >= least) continue;
        nearest = &slice;
        least = apart;
    }
    if (nearest == nullptr) return std::nullopt;
    return TimelineHit{part.key, part.role, *nearest};
}

QString partText(const TimelineHit& part, const std::optional<TimelineHit>& same, bool isJudged,
                 const QString& baseline, const QString& judged) {
    const SliceView& slice = part.slice;
    if (slice.count != 1)
        return tr("%1 parts share this pixel: zoom in to compare one.").arg(slice.count);
    QString name = slice.name;
    if (slice.layer != kNoLayer) name += QStringLiteral(", ") + formatLayer(slice.layer);
    const Duration own = slice.range.duration();
    const QString here = isJudged ? judged : baseline, there = isJudged ? baseline : judged;
    if (!same)
        return tr("%1: %2 %3, %4 has none in this step, or not in sight")
            .arg(name, here, formatDuration(own), there);
    const Duration its = same->slice.range.duration();
    const Duration before = isJudged ? its : own, after = isJudged ? own : its;
    return tr("%1: %2 %3, %4 %5, %6")
        .arg(name, baseline, formatDuration(before), judged, formatDuration(after),
             changeText(before, after));
}

}  // namespace shardscope::desktop
