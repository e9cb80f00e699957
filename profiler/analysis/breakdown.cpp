#include "profiler/analysis/breakdown.h"

#include "profiler/analysis/findings.h"

#include <utility>

namespace shardscope::analysis {
namespace {

/// A device's own kernels say what it did, where they were traced.
Intervals computeOf(const RankEvents& events) {
    return events.computeKernels.empty() ? computingTime(events) : unionOf(events.computeKernels);
}

Intervals communicationOf(const RankEvents& events) {
    return events.communicationKernels.empty() ? communicatingTime(events)
                                               : unionOf(events.communicationKernels);
}

}  // namespace

std::optional<Breakdown> breakdownOf(const RecordingSummary& summary, const RankEvents& events,
                                     std::vector<TimeRange> copies) {
    const Intervals time = trainingTime(summary, events);
    const Intervals compute = intersection(computeOf(events), time);
    const Intervals communication = intersection(communicationOf(events), time);
    const Intervals copying = intersection(unionOf(std::move(copies)), time);
    if (compute.empty() && communication.empty()) return std::nullopt;
    // A program's collectives are recorded at every level, what it computes is not.
    if (compute.empty() && sourceOf(summary.run) == RecordingSource::kProgram) return std::nullopt;
    const Intervals busy = unionOf(unionOf(compute, communication), copying);
    Breakdown breakdown;
    breakdown.rank = events.rank;
    breakdown.span = total(time);
    breakdown.idle = breakdown.span - total(busy);
    breakdown.compute = total(compute);
    breakdown.communication = total(communication);
    breakdown.nonCompute = breakdown.span - breakdown.idle - breakdown.compute;
    breakdown.overlapped = common(compute, communication);
    return breakdown;
}

}  // namespace shardscope::analysis
