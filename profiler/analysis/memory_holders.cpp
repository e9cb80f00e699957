#include "profiler/analysis/memory_holders.h"

#include <algorithm>
#include <tuple>

namespace shardscope::analysis {
namespace {

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

PeakHolders peakHolders(const std::vector<MemoryEvent>& blocks, Bytes peak,
                        const std::function<std::string_view(StringId)>& textOf) {
    using Key = std::tuple<std::string, MemoryCategory, LayerIndex, Phase>;
    std::map<Key, MemoryHolder> sums;
    PeakHolders told;
    told.unexplained = peak;
    for (const MemoryEvent& block : blocks) {
        std::string owner(textOf(block.owner));
        MemoryHolder& sum = sums[{owner, block.category, block.layer, block.phase}];
        if (sum.blocks == 0)
            sum = {std::move(owner), block.category, block.layer, block.phase, 0, {}};
        ++sum.blocks;
        sum.bytes += block.size;
        told.unexplained -= block.size;
    }
    for (auto& [key, sum] : sums) told.holders.push_back(std::move(sum));
    sortByBytes(told.holders, &MemoryHolder::bytes);
    return told;
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
