#include "storage/interchange/builder/pending_flows.h"

#include "storage/interchange/flow_binder.h"

#include <utility>

namespace shardscope::interchange {
namespace {

/// Stored spans of all lanes of a thread that touch a range.
Result<std::vector<SpanEvent>> spansOf(const std::vector<LaneId>& lanes,
                                       const PendingFlows::Surroundings& around, TimeRange range) {
    std::vector<SpanEvent> all;
    for (const LaneId lane : lanes) {
        auto spans = around.spans(lane, range);
        if (!spans) return spans;
        all.insert(all.end(), spans->begin(), spans->end());
    }
    return all;
}

/// Binds flows of one thread, which come in order of time, part after part.
class ThreadFlows {
public:
    ThreadFlows(LaneId home, const std::vector<LaneId>& lanes,
                const PendingFlows::Surroundings& around)
        : m_home(home),
          m_around(around),
          m_binder([&lanes, &around](TimeRange range) { return spansOf(lanes, around, range); },
                   around.lastStart) {}

    Result<void> bind(std::span<FlowEvent*> flows) {
        for (FlowEvent* flow : flows) flow->lane = m_home;
        if (auto bound = m_binder.bind(flows); !bound) return bound;
        for (FlowEvent* flow : flows) {
            if (flow->bound) continue;
            m_around.holds(m_home);
            if (flow->step == kNoStep) flow->step = m_around.stepAt(flow->time);
        }
        return {};
    }

private:
    LaneId m_home;
    const PendingFlows::Surroundings& m_around;
    FlowBinder m_binder;
};

}  // namespace

void PendingFlows::add(std::uint32_t thread, const FlowEvent& event) {
    m_threads[thread].home = event.lane;
    FlowEvent waiting = event;
    waiting.lane = {thread};
    m_unbound.add(waiting);
}

void PendingFlows::join(std::uint32_t thread, LaneId lane) {
    if (const auto at = m_threads.find(thread); at != m_threads.end())
        at->second.lanes.push_back(lane);
}

Result<void> PendingFlows::drain(const Surroundings& around,
                                 const std::function<void(std::span<FlowEvent>)>& store) {
    if (auto drained = m_asTheyAre.drain(store); !drained) return drained;
    std::map<std::uint32_t, ThreadFlows> threads;
    for (const auto& [number, thread] : m_threads)
        threads.try_emplace(number, thread.home, thread.lanes, around);
    Result<void> bound;
    auto drained = m_unbound.drain([&](std::span<FlowEvent> events) {
        std::map<std::uint32_t, std::vector<FlowEvent*>> ofThreads;
        for (FlowEvent& event : events) ofThreads[event.lane.value].push_back(&event);
        for (auto& [number, flows] : ofThreads)
            if (bound) bound = threads.at(number).bind(flows);
        if (bound) store(events);
    });
    return bound ? drained : bound;
}

}  // namespace shardscope::interchange
