// Memory events or flows of one rank, in order of time whatever order they come in.
//
// What is alive is a sum over the events before, so one that is stored late makes all totals behind
// it wrong; and what a flow binds to is known only once all spans are there. Sorted runs wait
// encoded, about 8 bytes an event, and are merged at the end. One thread.
#pragma once

#include "storage/columns/stored_kinds.h"
#include "storage/model/events.h"
#include "storage/model/result.h"

#include <functional>
#include <span>
#include <vector>

namespace shardscope::interchange {

/// MemoryEvent or FlowEvent.
template <class Event>
class EventRuns {
public:
    void add(const Event& event);
    /// Comes before all others of its time.
    void addFirst(const Event& event) { m_first.push_back(event); }

    /// All of them, in order of time, and where that is equal in the order they came. Parts hold at
    /// most kStoredChunkEvents, and are the callee's to change. Nothing is left behind.
    Result<void> drain(const std::function<void(std::span<Event>)>& store);

    [[nodiscard]] bool empty() const {
        return m_first.empty() && m_pending.empty() && m_runs.empty();
    }

private:
    /// Parts follow one another in time.
    using Run = std::vector<columns::ChunkBytes>;

    void encodePending();

    std::vector<Event> m_first;
    std::vector<Event> m_pending;
    std::vector<Run> m_runs;
    Timestamp m_runEnd;  ///< latest time in the last run
};

}  // namespace shardscope::interchange
