// The flows of one rank of a trace that is being built: a flow may bind to a span that comes later,
// so they wait until all spans are stored. Part of the trace builder. One thread.
#pragma once

#include "storage/interchange/event_runs.h"
#include "storage/model/events.h"
#include "storage/model/result.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace shardscope::interchange {

class PendingFlows {
public:
    /// Of a thread; `event.lane` holds it where no span of the thread is found to bind it to.
    void add(std::uint32_t thread, const FlowEvent& event);
    /// Bound already, or to nothing.
    void addAsItIs(const FlowEvent& event) { m_asTheyAre.add(event); }
    /// Spans of this lane are the thread's. Of threads that have flows.
    void join(std::uint32_t thread, LaneId lane);

    /// What binding needs to know.
    struct Surroundings {
        /// Stored ones of a lane that touch a range.
        std::function<Result<std::vector<SpanEvent>>(LaneId lane, TimeRange range)> spans;
        Timestamp lastStart;  ///< of any span, or later
        std::function<StepIndex(Timestamp)> stepAt;
        /// A lane that holds a flow which binds to nothing.
        std::function<void(LaneId)> holds;
    };
    /// All of them, bound, in parts of at most kStoredChunkEvents. Nothing is left behind.
    Result<void> drain(const Surroundings& around,
                       const std::function<void(std::span<FlowEvent>)>& store);

private:
    struct Thread {
        LaneId home;                ///< of flows that bind to nothing
        std::vector<LaneId> lanes;  ///< with spans
    };

    std::map<std::uint32_t, Thread> m_threads;
    EventRuns<FlowEvent> m_unbound;  ///< lane: the thread
    EventRuns<FlowEvent> m_asTheyAre;
};

}  // namespace shardscope::interchange
