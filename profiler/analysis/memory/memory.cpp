#include "profiler/analysis/findings.h"
#include "storage/model/rank_facts.h"

namespace shardscope::analysis {

RankMemory rankMemory(const RecordingSummary& summary, const RankEvents& events) {
    RankMemory memory;
    memory.rank = events.rank;
    memory.known = events.hasMemoryEvents;
    memory.peak = events.peakMemory;
    memory.peakTime = events.peakTime;
    memory.byCategory = events.peakByCategory;
    for (const MemoryTheory& theory : summary.memoryTheory) {
        if (theory.rank != events.rank) continue;
        memory.theoryByCategory[static_cast<std::size_t>(theory.category)] += theory.size;
        memory.theory += theory.size;
    }
    return memory;
}

}  // namespace shardscope::analysis
