#include "app/desktop/models/open_recording.h"

#include "app/desktop/models/format.h"
#include "profiler/analysis/groups.h"

#include <QStringList>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

bool isCompute(Phase phase) {
    return isWork(phase) || phase == Phase::kEvaluation;
}

void addShare(std::vector<float>& buckets, TimeRange whole, TimeRange part, float weight) {
    const double length =
        static_cast<double>(whole.duration().ns) / static_cast<double>(buckets.size());
    const TimeRange clipped = part.intersection(whole);
    if (clipped.empty() || length <= 0) return;
    const auto bucketOf = [&](Timestamp time) {
        const auto index =
            static_cast<std::size_t>(static_cast<double>((time - whole.begin).ns) / length);
        return std::min(index, buckets.size() - 1);
    };
    for (std::size_t i = bucketOf(clipped.begin); i <= bucketOf(clipped.end); ++i) {
        const double begin = static_cast<double>(whole.begin.ns) + static_cast<double>(i) * length;
        const double covered = std::min(static_cast<double>(clipped.end.ns), begin + length) -
                               std::max(static_cast<double>(clipped.begin.ns), begin);
        if (covered > 0) buckets[i] += static_cast<float>(covered / length) * weight;
    }
}

}  // namespace

const RankEvents* OpenRecording::rank(RankId wanted) const {
    for (const RankEvents& events : ranks) {
        if (events.rank == wanted) return &events;
    }
    return nullptr;
}

const LaneFacts* OpenRecording::lane(LaneAddress key) const {
    for (const LaneFacts& lane : summary.lanes) {
        if (lane.rank == key.rank && lane.lane == key.lane) return &lane;
    }
    return nullptr;
}

const CollectiveEvent* OpenRecording::collective(RankId wanted, CollectiveKey key) const {
    const RankEvents* events = rank(wanted);
    if (events == nullptr) return nullptr;
    // By sequence, which every group counts for itself.
    auto found = std::lower_bound(
        events->collectives.begin(), events->collectives.end(), key.sequence,
        [](const CollectiveEvent& event, std::uint64_t value) { return event.sequence < value; });
    for (; found != events->collectives.end() && found->sequence == key.sequence; ++found)
        if (found->group == key.group) return &*found;
    return nullptr;
}

std::vector<RankId> OpenRecording::members(std::uint32_t group) const {
    return analysis::groupMembers(ranks, group);
}

std::optional<StepSpan> OpenRecording::stepsIn(TimeRange range) const {
    std::optional<StepSpan> span;
    for (const StepFacts& step : summary.steps) {
        if (step.start < range.begin || step.end > range.end) continue;
        if (!span) span = StepSpan{step.step, step.step};
        span->first = std::min(span->first, step.step);
        span->last = std::max(span->last, step.step);
    }
    return span;
}

std::optional<StepSpan> OpenRecording::stepsOf(const Selection& selection) const {
    return selection.steps ? selection.steps : stepsIn(selection.range.value_or(bounds()));
}

TimeRange OpenRecording::timeOf(const Selection& selection) const {
    if (selection.range) return *selection.range;
    std::optional<TimeRange> time;
    for (const StepFacts& step : summary.steps) {
        if (!selection.steps || !selection.steps->contains(step.step)) continue;
        if (!selection.includes(step.rank)) continue;
        if (!time) time = step.range();
        time->begin = std::min(time->begin, step.start);
        time->end = std::max(time->end, step.end);
    }
    return time.value_or(bounds());
}

QString OpenRecording::title() const {
    if (isImported()) {
        const QStringList files = address().split(u'\n');
        QString name = files.front().section(u'/', -1, -1, QString::SectionSkipEmpty);
        if (files.size() > 1) name += u" + %1"_s.arg(files.size() - 1);
        return u"%1 · %2"_s.arg(name, summary.ranks.size() == 1
                                          ? u"1 rank"_s
                                          : u"%1 ranks"_s.arg(summary.ranks.size()));
    }
    return u"%1 · %2 × %3"_s.arg(fromUtf8(summary.run.model), fromUtf8(summary.run.strategy))
        .arg(summary.run.worldSize);
}

RunDensity runDensity(const std::vector<RankEvents>& ranks, TimeRange range, int buckets) {
    RunDensity density{range, std::vector<float>(static_cast<std::size_t>(buckets)),
                       std::vector<float>(static_cast<std::size_t>(buckets))};
    if (ranks.empty() || range.empty()) return density;
    const float weight = 1.0F / static_cast<float>(ranks.size());
    for (const RankEvents& events : ranks) {
        for (const SpanEvent& phase : events.phases) {
            if (isCompute(phase.phase)) addShare(density.compute, range, phase.range(), weight);
            if (isWait(phase.phase)) addShare(density.blocked, range, phase.range(), weight);
        }
    }
    return density;
}

}  // namespace shardscope::desktop
