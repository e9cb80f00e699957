#include "profiler/analysis/findings.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <map>
#include <optional>

namespace shardscope::analysis {
namespace {

/// From the first kernel or collective to the last one's end.
std::vector<TimeRange> workedTime(const RankEvents& events) {
    std::optional<TimeRange> all;
    const auto include = [&](const TimeRange& range) {
        if (!all) all = range;
        all->begin = std::min(all->begin, range.begin);
        all->end = std::max(all->end, range.end);
    };
    for (const TimeRange& kernel : events.computeKernels) include(kernel);
    for (const TimeRange& kernel : events.communicationKernels) include(kernel);
    for (const CollectiveEvent& collective : events.collectives)
        include({collective.start, collective.end});
    if (!all) return {};
    return {*all};
}

/// A program's phases, or kernels. Of our own runs and of traces what is not there did not happen.
bool knowsCompute(const RecordingSummary& summary, const RankEvents& events) {
    return sourceOf(summary.run) != RecordingSource::kProgram || !events.phases.empty() ||
           !events.computeKernels.empty();
}

void addSteps(const RecordingSummary& summary, RankId rank, const Intervals& communication,
              const Intervals& hidden, bool computeKnown, StepOverlaps& steps) {
    for (const StepFacts& step : summary.steps) {
        if (step.rank != rank) continue;
        const Duration communicated = total(communication, step.range());
        if (communicated.ns == 0) continue;
        StepOverlap& sum = steps[step.step];
        sum.step = step.step;
        sum.communication += communicated;
        sum.hidden += total(hidden, step.range());
        sum.computeKnown = sum.computeKnown && computeKnown;
    }
}

/// Collectives alone say it: kernels that communicate have no arrivals.
bool knowsWaiting(const RecordingSummary& summary, const RankEvents& events) {
    // An imported trace of one rank need not be of a world of one.
    if (summary.run.worldSize == 1 && !summary.run.model.empty()) return true;
    if (events.collectives.empty()) return events.communicationKernels.empty();
    return std::all_of(events.collectives.begin(), events.collectives.end(),
                       [](const CollectiveEvent& event) { return event.arrivals.size() > 1; });
}

}  // namespace

bool hasSteps(const RecordingSummary& summary, const RankEvents& events) {
    // A run of our own that ended before its first step has phases, and trained nothing.
    return !events.phases.empty() ||
           std::any_of(summary.steps.begin(), summary.steps.end(),
                       [&](const StepFacts& step) { return step.rank == events.rank; });
}

Intervals trainingTime(const RecordingSummary& summary, const RankEvents& events) {
    if (!hasSteps(summary, events)) return unionOf(workedTime(events));
    std::vector<TimeRange> steps;
    for (const StepFacts& step : summary.steps)
        if (step.rank == events.rank) steps.push_back(step.range());
    const auto evaluation =
        phaseTime(events, [](Phase phase) { return phase == Phase::kEvaluation; });
    return difference(unionOf(std::move(steps)), evaluation);
}

Intervals communicatingTime(const RankEvents& events) {
    // Kernels as well: not every one that moves data has a row that says of which collective.
    std::vector<TimeRange> collectives;
    collectives.reserve(events.communicationKernels.size() + events.collectives.size());
    collectives = events.communicationKernels;
    for (const CollectiveEvent& collective : events.collectives)
        collectives.push_back({collective.start, collective.end});
    return unionOf(std::move(collectives));
}

std::vector<const CollectiveEvent*> byStart(const std::vector<CollectiveEvent>& collectives) {
    std::vector<const CollectiveEvent*> sorted;
    sorted.reserve(collectives.size());
    for (const CollectiveEvent& collective : collectives) sorted.push_back(&collective);
    const auto before = [](const auto* a, const auto* b) { return a->start < b->start; };
    if (!std::is_sorted(sorted.begin(), sorted.end(), before))
        std::stable_sort(sorted.begin(), sorted.end(), before);
    return sorted;
}

Intervals computingTime(const RankEvents& events) {
    // An imported trace has no phases; there the device's own kernels say when it computed.
    return events.phases.empty() ? unionOf(events.computeKernels) : phaseTime(events, isWork);
}

Intervals waitingTime(const RankEvents& events) {
    std::vector<TimeRange> waits;
    waits.reserve(events.collectives.size());
    for (const CollectiveEvent& collective : events.collectives)
        waits.push_back({collective.start, collective.lastArrival()});
    return unionOf(std::move(waits));
}

Overlap rankOverlap(const RecordingSummary& summary, const RankEvents& events,
                    StepOverlaps& steps) {
    const Intervals training = trainingTime(summary, events);
    Overlap overlap;
    {  // of a long run each of these is tens of megabytes
        const Intervals communication = intersection(communicatingTime(events), training);
        overlap.communication = total(communication);
        const Intervals hidden = intersection(communication, computingTime(events));
        overlap.hidden = total(hidden);
        overlap.computeKnown = knowsCompute(summary, events);
        addSteps(summary, events.rank, communication, hidden, overlap.computeKnown, steps);
        overlap.exposed = overlap.communication - overlap.hidden;
        const Intervals waiting = waitingTime(events);
        overlap.waiting = common(communication, waiting);
        overlap.moving = overlap.communication - overlap.waiting;
        overlap.waitingKnown = knowsWaiting(summary, events);
        overlap.hiddenMoving = overlap.hidden - common(hidden, waiting);
    }
    // Ranks that take turns on a device wait for each other inside of their phases.
    if (!sharesDevice(summary, events.rank)) addOverlapLimit(events, training, overlap);
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
        sum.hiddenMoving += overlap.hiddenMoving;
        sum.limitCommunication += overlap.limitCommunication;
        sum.limitHidden += overlap.limitHidden;
        sum.waitingKnown = sum.waitingKnown && overlap.waitingKnown;
        sum.computeKnown = sum.computeKnown && overlap.computeKnown;
    }
    return sum;
}

}  // namespace shardscope::analysis
