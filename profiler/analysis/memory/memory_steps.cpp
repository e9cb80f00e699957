#include "profiler/analysis/memory/memory_steps.h"

#include "profiler/analysis/findings.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <tuple>

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

/// Whether a time lies within one of the steps, asked about in order of time.
class WithinSteps {
public:
    explicit WithinSteps(std::vector<StepFacts> steps) : m_steps(std::move(steps)) {
        std::stable_sort(m_steps.begin(), m_steps.end(),
                         [](const auto& a, const auto& b) { return a.start < b.start; });
    }
    /// Null: in none.
    const StepFacts* at(Timestamp time) {
        while (m_next < m_steps.size() && m_steps[m_next].end <= time) ++m_next;
        const bool within = m_next < m_steps.size() && m_steps[m_next].start <= time;
        return within ? &m_steps[m_next] : nullptr;
    }

private:
    std::vector<StepFacts> m_steps;
    std::size_t m_next = 0;
};

template <class Row>
void sortByBytes(std::vector<Row>& rows, Bytes Row::*bytes) {
    std::stable_sort(rows.begin(), rows.end(),
                     [bytes](const Row& a, const Row& b) { return a.*bytes > b.*bytes; });
}

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

PeakHolders peakHolders(const std::vector<MemoryEvent>& blocks, Bytes peak,
                        const std::function<std::string_view(StringId)>& textOf) {
    using Key = std::tuple<std::string, MemoryCategory, LayerIndex, Phase>;
    std::map<Key, MemoryHolder> sums;
    PeakHolders result;
    result.unexplained = peak;
    for (const MemoryEvent& block : blocks) {
        std::string owner(textOf(block.owner));
        MemoryHolder& sum = sums[{owner, block.category, block.layer, block.phase}];
        if (sum.blocks == 0)
            sum = {std::move(owner), block.category, block.layer, block.phase, 0, {}};
        ++sum.blocks;
        sum.bytes += block.size;
        result.unexplained -= block.size;
    }
    for (auto& [key, sum] : sums) result.holders.push_back(std::move(sum));
    sortByBytes(result.holders, &MemoryHolder::bytes);
    return result;
}

std::map<MemoryPlace, Bytes> byPlace(const std::vector<MemoryHolder>& holders) {
    std::map<MemoryPlace, Bytes> places;
    for (const MemoryHolder& holder : holders)
        places[{holder.category, holder.layer}] += holder.bytes;
    return places;
}

std::vector<PhaseMemory> phaseMemory(const std::vector<MemoryEvent>& events,
                                     const std::vector<StepFacts>& steps) {
    WithinSteps within(steps);
    std::map<std::pair<Phase, LayerIndex>, PhaseMemory> most;
    Bytes alive;
    for (const MemoryEvent& event : events) {
        if (event.action == MemoryAction::kFree) {
            alive -= event.size;
            continue;
        }
        alive += event.size;
        const StepFacts* step = within.at(event.time);
        if (step == nullptr) continue;
        PhaseMemory& memory = most[{event.phase, event.layer}];
        if (alive > memory.peak) memory = {event.phase, event.layer, step->step, alive};
    }
    std::vector<PhaseMemory> all;
    for (const auto& [place, memory] : most)
        if (memory.peak.count > 0) all.push_back(memory);
    sortByBytes(all, &PhaseMemory::peak);
    return all;
}

}  // namespace shardscope::analysis
