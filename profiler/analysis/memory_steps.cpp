#include "profiler/analysis/memory_steps.h"

#include "profiler/analysis/findings.h"

#include <algorithm>

namespace shardscope::analysis {
namespace {

constexpr std::size_t kWarmupSteps = 2;

/// Walks through the events once, steps in order of time.
class Walk {
public:
    explicit Walk(const std::vector<MemoryEvent>& events)
        : m_next(events.begin()), m_end(events.end()) {}

    /// Before the step: only what is alive counts.
    void skipTo(Timestamp time) {
        while (m_next != m_end && m_next->time < time) apply();
    }
    StepMemory through(const StepFacts& step) {
        skipTo(step.start);
        StepMemory memory{step.step, m_alive, Phase::kNone, kNoLayer, {}};
        while (m_next != m_end && m_next->time < step.end) {
            const MemoryEvent& event = *m_next;
            apply();
            if (m_alive <= memory.peak) continue;
            memory.peak = m_alive;
            memory.peakPhase = event.phase;
            memory.peakLayer = event.layer;
        }
        memory.left = m_alive;
        return memory;
    }

private:
    void apply() {
        m_alive.count +=
            m_next->action == MemoryAction::kAllocate ? m_next->size.count : -m_next->size.count;
        ++m_next;
    }
    std::vector<MemoryEvent>::const_iterator m_next, m_end;
    Bytes m_alive;
};

}  // namespace

std::vector<StepMemory> stepMemory(const std::vector<MemoryEvent>& events,
                                   const std::vector<StepFacts>& steps) {
    std::vector<StepFacts> byTime = steps;
    std::stable_sort(byTime.begin(), byTime.end(),
                     [](const StepFacts& a, const StepFacts& b) { return a.start < b.start; });
    Walk walk(events);
    std::vector<StepMemory> memory;
    memory.reserve(byTime.size());
    for (const StepFacts& step : byTime) memory.push_back(walk.through(step));
    return memory;
}

std::optional<MemoryGrowth> growthOf(const std::vector<StepMemory>& steps) {
    if (steps.size() < kWarmupSteps + kLeastStepsForGrowth) return std::nullopt;
    std::vector<std::int64_t> differences;
    Bytes peak;
    for (std::size_t i = kWarmupSteps + 1; i < steps.size(); ++i)
        differences.push_back(steps[i].left.count - steps[i - 1].left.count);
    for (const StepMemory& step : steps) peak = std::max(peak, step.peak);
    const auto growing = std::count_if(differences.begin(), differences.end(),
                                       [](std::int64_t each) { return each > 0; });
    MemoryGrowth growth;
    growth.all = {steps.back().left.count - steps[kWarmupSteps].left.count};
    growth.grows =
        static_cast<double>(growing) >= kGrowingSteps * static_cast<double>(differences.size()) &&
        static_cast<double>(growth.all.count) >= kLeastGrowth * static_cast<double>(peak.count);
    growth.perStep = {medianOf(std::move(differences))};
    return growth;
}

bool mayGrow(const RankEvents& events, const std::vector<StepFacts>& steps) {
    if (!events.hasMemoryEvents) return false;
    std::size_t own = 0, before = 0;
    for (const StepFacts& step : steps) {
        if (step.rank != events.rank) continue;
        ++own;
        before += step.end <= events.peakTime;
    }
    return own >= kWarmupSteps + kLeastStepsForGrowth && 2 * before >= own;
}

}  // namespace shardscope::analysis
