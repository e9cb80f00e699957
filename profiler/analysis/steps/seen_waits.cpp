#include "profiler/analysis/steps/seen_waits.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace shardscope::analysis {
namespace {

Phase waitFor(CollectiveOp operation) {
    switch (operation) {
        case CollectiveOp::kAllGather:
            return Phase::kWaitGather;
        case CollectiveOp::kAllReduce:
        case CollectiveOp::kReduceScatter:
            return Phase::kWaitReduction;
        default:
            return Phase::kWaitOther;
    }
}

using ByEnd = std::vector<const CollectiveEvent*>;

ByEnd byEnd(const std::vector<CollectiveEvent>& collectives) {
    ByEnd sorted;
    for (const CollectiveEvent& each : collectives) sorted.push_back(&each);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto* a, const auto* b) { return a->end < b->end; });
    return sorted;
}

/// Of steps without detail there are no phases: what lies around such a step says nothing.
bool follow(const SpanEvent& before, const SpanEvent& after) {
    return before.step != kNoStep && before.step <= after.step &&
           after.step.value - before.step.value <= 1;
}

SpanEvent waitOf(const CollectiveEvent& collective, Timestamp from, const SpanEvent& before) {
    SpanEvent wait = before;
    wait.start = from;
    wait.duration = collective.end - from;
    wait.name = {};
    wait.phase = waitFor(collective.operation);
    wait.step = std::max(collective.step, before.step);
    return wait;
}

/// Adds what was waited for between two phases; `next`: of the collectives, the first that can end
/// behind `before`.
void addWaits(const SpanEvent& before, const SpanEvent& after, ByEnd::const_iterator& next,
              ByEnd::const_iterator last, std::vector<SpanEvent>& phases) {
    Timestamp reached = before.end();
    while (next != last && (*next)->end <= reached) ++next;
    for (; next != last && (*next)->end <= after.start; ++next) {
        const Timestamp from = std::max(reached, (*next)->start);
        if (from >= (*next)->end) continue;
        phases.push_back(waitOf(**next, from, before));
        reached = (*next)->end;
    }
}

/// What a recorded wait was for: the last collective that ended in it, else the next to end that
/// had begun. Null: no collective went on.
const CollectiveEvent* endedBy(const SpanEvent& wait, const ByEnd& collectives) {
    const auto behind =
        std::upper_bound(collectives.begin(), collectives.end(), wait.end(),
                         [](Timestamp time, const auto* each) { return time < each->end; });
    if (behind != collectives.begin() && (*std::prev(behind))->end > wait.start)
        return *std::prev(behind);
    const bool begun = behind != collectives.end() && (*behind)->start < wait.end();
    return begun ? *behind : nullptr;
}

/// Recorded waits with the kind of what they were for. Where no collective went on, on work that
/// had ended or a future of something else, nothing was waited for: that is of the phase around it.
std::vector<SpanEvent> withKinds(std::vector<SpanEvent> phases, const ByEnd& collectives) {
    std::vector<SpanEvent> kinds;
    for (SpanEvent& phase : phases) {
        const bool waited = isWait(phase.phase);
        const CollectiveEvent* ended = waited ? endedBy(phase, collectives) : nullptr;
        if (ended != nullptr) phase.phase = waitFor(ended->operation);
        if (waited && ended == nullptr) {
            if (!kinds.empty() && kinds.back().end() == phase.start)
                kinds.back().duration = phase.end() - kinds.back().start;
            continue;
        }
        kinds.push_back(phase);
    }
    return kinds;
}

}  // namespace

RankEvents withSeenWaits(const RunFacts& run, RankEvents events) {
    if (sourceOf(run) != RecordingSource::kProgram || events.phases.empty()) return events;
    const ByEnd collectives = byEnd(events.collectives);
    auto next = collectives.begin();
    std::vector<SpanEvent> phases;
    for (SpanEvent& phase : withKinds(std::move(events.phases), collectives)) {
        if (!phases.empty()) {
            const SpanEvent before = phases.back();
            if (follow(before, phase)) addWaits(before, phase, next, collectives.end(), phases);
        }
        phases.push_back(phase);
    }
    events.phases = std::move(phases);
    return events;
}

}  // namespace shardscope::analysis
