#include "app/cli/bench/memory_moments.h"

#include <algorithm>
#include <vector>

namespace shardscope::cli {
namespace {

constexpr RankId kRank{0};

Result<theory::MemoryByCategory> heldAt(storage::RecordingReader& reader, Timestamp time) {
    const auto alive = reader.liveMemory(kRank, time);
    if (!alive) return failure(alive);
    theory::MemoryByCategory held{};
    for (const MemoryEvent& block : *alive)
        held[static_cast<std::size_t>(block.category)].count += block.size.count;
    return held;
}

const StepFacts* stepOf(const RecordingSummary& summary, bool last) {
    const StepFacts* found = nullptr;
    for (const StepFacts& step : summary.steps) {
        if (step.rank != kRank) continue;
        if (found == nullptr || last) found = &step;
    }
    return found;
}

/// Where phases of `uses` begin and end within a step; empty: there are none.
template <class Wanted>
TimeRange rangeOf(const RankEvents& events, const TimeRange& step, Wanted wanted) {
    TimeRange all;
    for (const SpanEvent& phase : events.phases) {
        if (!wanted(phase.phase) || !step.contains(phase.start)) continue;
        if (all.empty()) all = phase.range();
        all.end = std::max(all.end, phase.range().end);
    }
    return all;
}

Result<Bytes> peakWithin(storage::RecordingReader& reader, const TimeRange& range) {
    const auto before = heldAt(reader, range.begin);
    if (!before) return failure(before);
    const auto events = reader.memoryEvents(kRank, range);
    if (!events) return failure(events);
    std::int64_t held = theory::total(*before).count, most = held;
    for (const MemoryEvent& event : *events) {
        if (event.time <= range.begin) continue;
        held += event.action == MemoryAction::kAllocate ? event.size.count : -event.size.count;
        most = std::max(most, held);
    }
    return Bytes{most};
}

}  // namespace

Result<MomentsHeld> momentsOf(storage::RecordingReader& reader, const RecordingSummary& summary) {
    const StepFacts* first = stepOf(summary, false);
    const StepFacts* last = stepOf(summary, true);
    if (first == nullptr) return failure(ErrorCode::kFailure, "it has no steps");
    const auto events = reader.rankEvents(kRank, last->range());
    if (!events) return failure(events);
    const TimeRange update = rangeOf(*events, last->range(), [](Phase phase) {
        return phase == Phase::kClip || phase == Phase::kOptimizer;
    });
    const TimeRange forward =
        rangeOf(*events, last->range(), [](Phase phase) { return phase == Phase::kForward; });
    if (update.empty() || forward.empty())
        return failure(ErrorCode::kFailure, "its last step has no phases");
    if (!events->hasMemoryEvents)
        return failure(ErrorCode::kFailure, "no memory events were recorded");
    MomentsHeld held;
    const auto set = [&](theory::MemoryByCategory& moment, Timestamp time) -> Result<void> {
        auto at = heldAt(reader, time);
        if (!at) return failure(at);
        moment = *at;
        return {};
    };
    if (auto done = set(held.initialised, first->start); !done) return failure(done);
    if (auto done = set(held.beforeOptimizer, update.begin); !done) return failure(done);
    if (auto done = set(held.afterOptimizer, forward.begin); !done) return failure(done);
    const auto peak = peakWithin(reader, {last->start, forward.end});
    if (!peak) return failure(peak);
    held.forwardPeak = *peak;
    return held;
}

}  // namespace shardscope::cli
