#include "profiler/questions/read_growth.h"

#include <algorithm>
#include <cstdint>

namespace shardscope::questions {
namespace {

/// What was allocated before the first step counts as well.
constexpr Timestamp kBeginning{-(std::int64_t{1} << 61)};

/// Thinned steps hold no memory events, and show what lives on as allocated later.
std::vector<StepFacts> stepsWithMemory(const RecordingSummary& summary, RankId rank) {
    const StepDetail detail(summary.detail);
    std::vector<StepFacts> steps;
    for (const StepFacts& step : summary.steps)
        if (step.rank == rank && detail.of(rank, step.step) == CaptureLevel::kFull)
            steps.push_back(step);
    return steps;
}

std::vector<const RankEvents*> mostLikely(const RecordingSummary& summary,
                                          const std::vector<RankEvents>& ranks) {
    std::vector<const RankEvents*> likely;
    for (const RankEvents& events : ranks)
        if (analysis::mayGrow(events, summary.steps)) likely.push_back(&events);
    std::stable_sort(likely.begin(), likely.end(), [](const RankEvents* a, const RankEvents* b) {
        return a->peakMemory > b->peakMemory;
    });
    likely.resize(std::min(likely.size(), kMostGrowthRanks));
    return likely;
}

}  // namespace

Result<std::vector<analysis::RankGrowth>> memoryGrowths(storage::RecordingReader& reader,
                                                        const RecordingSummary& summary,
                                                        const std::vector<RankEvents>& ranks) {
    std::vector<analysis::RankGrowth> growths;
    for (const RankEvents* events : mostLikely(summary, ranks)) {
        const auto read =
            reader.memoryEvents(events->rank, {kBeginning, {summary.bounds.end.ns + 1}});
        if (!read) return failure(read);
        const auto steps = analysis::stepMemory(*read, stepsWithMemory(summary, events->rank));
        if (const auto growth = analysis::growthOf(steps))
            growths.push_back({events->rank, *growth});
    }
    return growths;
}

}  // namespace shardscope::questions
