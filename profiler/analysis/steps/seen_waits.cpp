#include "profiler/analysis/steps/seen_waits.h"

#include <algorithm>
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

}  // namespace

RankEvents withSeenWaits(const RunFacts& run, RankEvents events) {
    if (sourceOf(run) != RecordingSource::kProgram || events.phases.empty()) return events;
    const ByEnd collectives = byEnd(events.collectives);
    auto next = collectives.begin();
    std::vector<SpanEvent> phases;
    for (const SpanEvent& phase : events.phases) {
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
