#include "profiler/analysis/findings.h"

namespace shardscope::analysis {

Intervals trainingTime(const RecordingSummary& summary, const RankEvents& events) {
    std::vector<TimeRange> steps;
    for (const StepFacts& step : summary.steps)
        if (step.rank == events.rank) steps.push_back(step.range());
    const auto evaluation =
        phaseTime(events, [](Phase phase) { return phase == Phase::kEvaluation; });
    return difference(unionOf(std::move(steps)), evaluation);
}

Intervals waitingTime(const RankEvents& events) {
    std::vector<TimeRange> waits;
    for (const CollectiveEvent& collective : events.collectives)
        waits.push_back({collective.start, collective.lastArrival()});
    return unionOf(std::move(waits));
}

Overlap rankOverlap(const RecordingSummary& summary, const RankEvents& events) {
    std::vector<TimeRange> collectives;
    for (const CollectiveEvent& collective : events.collectives)
        collectives.push_back({collective.start, collective.end});
    const Intervals communication =
        intersection(unionOf(std::move(collectives)), trainingTime(summary, events));
    Overlap overlap;
    overlap.communication = total(communication);
    // An imported trace has no phases; there the device's own kernels say when it computed.
    const Intervals computing =
        events.phases.empty() ? unionOf(events.computeKernels) : phaseTime(events, isWork);
    overlap.hidden = total(intersection(communication, computing));
    overlap.exposed = overlap.communication - overlap.hidden;
    overlap.waiting = total(intersection(communication, waitingTime(events)));
    overlap.moving = overlap.communication - overlap.waiting;
    addOverlapLimit(summary, events, overlap);
    return overlap;
}

Overlap sumOf(const std::vector<Overlap>& overlaps) {
    Overlap sum;
    for (const Overlap& overlap : overlaps) {
        sum.communication += overlap.communication;
        sum.hidden += overlap.hidden;
        sum.exposed += overlap.exposed;
        sum.waiting += overlap.waiting;
        sum.moving += overlap.moving;
        sum.limitCommunication += overlap.limitCommunication;
        sum.limitHidden += overlap.limitHidden;
    }
    return sum;
}

}  // namespace shardscope::analysis
