#include "storage/interchange/builder/pending_flows.h"

#include "storage/model/events.h"
#include "storage/model/result.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace shardscope::interchange {
namespace {

/// Spans of all lanes of one thread that touch a range.
using SpansOfThread = std::function<Result<std::vector<SpanEvent>>(TimeRange range)>;

class FlowBinder {
public:
    /// `end` is when the last span of all begins, or later.
    FlowBinder(SpansOfThread spans, Timestamp end) : m_spans(std::move(spans)), m_end(end) {}

    /// Sets lane, span, depth and step of each flow that binds. By time, none earlier than in the
    /// calls before.
    Result<void> bind(std::span<FlowEvent*> flows);

private:
    Result<void> bindStretch(std::span<FlowEvent*> flows);
    Result<void> bindNext(FlowEvent& flow);

    SpansOfThread m_spans;
    Timestamp m_end;
    /// The first span from m_nextFrom on; none: no span begins after it.
    std::optional<SpanEvent> m_next;
    std::optional<Timestamp> m_nextFrom;
};

/// So many spans as a thread has in this time are held at once.
constexpr Duration kStretch{250'000'000};
/// First part of the time ahead that is looked at for a next span.
constexpr std::int64_t kLookAhead = 1'000'000;
/// Spans that begin together with a flow and are asked for its id.
constexpr int kMostAsked = 64;

bool encloses(const SpanEvent& a, const SpanEvent& b) {
    return std::tuple(a.start, b.end(), a.depth) < std::tuple(b.start, a.end(), b.depth);
}

void attach(FlowEvent& flow, const SpanEvent& span) {
    flow.bound = true;
    flow.lane = span.lane;
    flow.spanStart = span.start;
    flow.depth = span.depth;
    if (flow.step == kNoStep) flow.step = span.step;
}

/// Spans under way while time moves on.
class Sweep {
public:
    explicit Sweep(const std::vector<SpanEvent>& spans) : m_spans(spans) {}

    /// To `time`: later ones have not begun.
    void moveTo(Timestamp time) {
        for (; m_next < m_spans.size() && m_spans[m_next].start <= time; ++m_next) {
            m_open.insert(m_next);
            m_ends.push(m_next);
        }
        while (!m_ends.empty() && hasEnded(m_spans[m_ends.top()], time)) {
            const std::size_t ended = m_ends.top();
            m_ends.pop();
            m_open.erase(ended);
            // Of those that end together the innermost.
            const bool inner = !m_lastEnded || m_spans[*m_lastEnded].end() < m_spans[ended].end() ||
                               *m_lastEnded < ended;
            if (inner) m_lastEnded = ended;
        }
    }
    /// The innermost; of those that begin right then one that has the flow's id. One that ends
    /// right then where no other is under way.
    [[nodiscard]] const SpanEvent* enclosing(const FlowEvent& flow) const {
        int asked = 0;
        for (auto at = m_open.rbegin(); at != m_open.rend() && asked < kMostAsked; ++at, ++asked) {
            const SpanEvent& span = m_spans[*at];
            if (span.start != flow.time) break;
            if (flow.idText == kEmptyString && span.correlation == flow.id) return &span;
        }
        if (!m_open.empty()) return &m_spans[*m_open.rbegin()];
        const bool justEnded = m_lastEnded && m_spans[*m_lastEnded].end() == flow.time;
        return justEnded ? &m_spans[*m_lastEnded] : nullptr;
    }
    /// The outermost of the first that begin at `time` or later, of the spans that are known.
    [[nodiscard]] const SpanEvent* next(Timestamp time) const {
        const auto at =
            std::lower_bound(m_spans.begin(), m_spans.end(), time,
                             [](const SpanEvent& s, Timestamp t) { return s.start < t; });
        return at == m_spans.end() ? nullptr : &*at;
    }

private:
    static bool hasEnded(const SpanEvent& span, Timestamp time) {
        return span.end() < time || (span.end() == time && span.start < time);
    }
    struct EndsLater {
        const std::vector<SpanEvent>* spans;
        bool operator()(std::size_t a, std::size_t b) const {
            return std::tuple((*spans)[a].end(), a) > std::tuple((*spans)[b].end(), b);
        }
    };
    const std::vector<SpanEvent>& m_spans;
    std::size_t m_next = 0;
    std::set<std::size_t> m_open;  ///< outer ones first
    std::priority_queue<std::size_t, std::vector<std::size_t>, EndsLater> m_ends{
        EndsLater{&m_spans}};
    std::optional<std::size_t> m_lastEnded;
};

Result<void> FlowBinder::bind(std::span<FlowEvent*> flows) {
    while (!flows.empty()) {
        const auto behind = std::find_if(flows.begin(), flows.end(), [&](const FlowEvent* flow) {
            return flow->time - flows.front()->time > kStretch;
        });
        const auto count = static_cast<std::size_t>(behind - flows.begin());
        if (auto done = bindStretch(flows.first(count)); !done) return done;
        flows = flows.subspan(count);
    }
    return {};
}

Result<void> FlowBinder::bindStretch(std::span<FlowEvent*> flows) {
    // A span that ends right at the first flow counts.
    const TimeRange range{flows.front()->time - Duration{1}, flows.back()->time + Duration{1}};
    auto spans = m_spans(range);
    if (!spans) return failure(spans);
    std::sort(spans->begin(), spans->end(), encloses);
    Sweep sweep(*spans);
    for (FlowEvent* flow : flows) {
        sweep.moveTo(flow->time);
        const bool asksNext = flow->binding == FlowBinding::kNext;
        const SpanEvent* found = asksNext ? sweep.next(flow->time) : sweep.enclosing(*flow);
        if (found != nullptr)
            attach(*flow, *found);
        else if (asksNext)
            if (auto done = bindNext(*flow); !done) return done;
    }
    return {};
}

/// No span begins between the flow and the last one of this call: one lookup answers for all.
Result<void> FlowBinder::bindNext(FlowEvent& flow) {
    const bool known =
        m_nextFrom && *m_nextFrom <= flow.time && (!m_next || m_next->start >= flow.time);
    if (!known) {
        m_next.reset();
        m_nextFrom = flow.time;
        Timestamp from = flow.time;
        for (std::int64_t width = kLookAhead; from <= m_end && !m_next; width *= 4) {
            const TimeRange range{from, std::min(from + Duration{width}, m_end + Duration{1})};
            auto spans = m_spans(range);
            if (!spans) return failure(spans);
            std::erase_if(*spans, [&](const SpanEvent& s) { return s.start < from; });
            const auto first = std::min_element(spans->begin(), spans->end(), encloses);
            if (first != spans->end()) m_next = *first;
            from = range.end;
        }
    }
    if (m_next) attach(flow, *m_next);
    return {};
}

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
