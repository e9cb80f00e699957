// Memory events of one rank, in order of time whatever order they come in.
//
// What is alive is a sum over the events before, so one that is stored late makes all totals behind
// it wrong. Sorted runs wait encoded, about 8 bytes an event, and are merged at the end. One
// thread.
#pragma once

#include "storage/columns/chunk.h"
#include "storage/model/events.h"
#include "storage/model/result.h"

#include <functional>
#include <span>
#include <vector>

namespace shardscope::interchange {

class MemoryRuns {
public:
    void add(const MemoryEvent& event);
    /// Comes before all others of its time.
    void addFirst(const MemoryEvent& event) { m_first.push_back(event); }

    /// All of them, in order of time, and where that is equal in the order they came. Parts hold at
    /// most kStoredChunkEvents, and are the callee's to change. Nothing is left behind.
    Result<void> drain(const std::function<void(std::span<MemoryEvent>)>& store);

private:
    /// Parts follow one another in time.
    using Run = std::vector<columns::ChunkBytes>;

    void encodePending();

    std::vector<MemoryEvent> m_first;
    std::vector<MemoryEvent> m_pending;
    std::vector<Run> m_runs;
    Timestamp m_runEnd;  ///< latest time in the last run
};

}  // namespace shardscope::interchange
