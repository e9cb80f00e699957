#include "tests/support/random_events.h"

#include <algorithm>
#include <bit>

namespace shardscope::test {
namespace {

template <class Event, class Key>
void sortBy(std::vector<Event>& events, Key key) {
    std::stable_sort(events.begin(), events.end(),
                     [&](const Event& a, const Event& b) { return key(a) < key(b); });
}

}  // namespace

std::vector<SpanEvent> RandomEvents::spans(std::size_t count) {
    std::vector<SpanEvent> events(count);
    for (SpanEvent& e : events) {
        e.start = {magnitude(60) * (between(0, 1) == 0 ? 1 : -1)};
        e.duration = {magnitude(60)};
        e.lane = {static_cast<std::uint32_t>(between(0, 3))};
        e.name = {static_cast<std::uint32_t>(bits() >> between(32, 63))};
        e.arguments = {static_cast<std::uint32_t>(bits() >> between(32, 63))};
        e.correlation = bits() >> between(0, 63);
        e.step = {static_cast<std::int32_t>(bits())};
        e.layer = {static_cast<std::int16_t>(bits())};
        e.phase = static_cast<Phase>(between(0, 13));
        e.depth = static_cast<std::uint8_t>(between(0, 255));
    }
    sortBy(events, [](const SpanEvent& e) { return e.start; });
    return events;
}

std::vector<MemoryEvent> RandomEvents::memory(std::size_t count) {
    std::vector<MemoryEvent> events(count);
    const bool imported = between(0, 1) == 0;  // only such events have arguments
    for (MemoryEvent& e : events) {
        if (imported) e.arguments = {static_cast<std::uint32_t>(bits() >> between(32, 63))};
        e.time = {magnitude(60)};
        e.address = between(0, 3) == 0 ? bits() : static_cast<std::uint64_t>(between(1, 9)) << 30;
        e.size = {magnitude(60)};
        e.action = static_cast<MemoryAction>(between(1, 2));
        e.category = static_cast<MemoryCategory>(between(0, kMemoryCategoryCount - 1));
        e.owner = {static_cast<std::uint32_t>(bits())};
        e.step = {static_cast<std::int32_t>(bits())};
        e.layer = {static_cast<std::int16_t>(bits())};
        e.phase = static_cast<Phase>(between(0, 13));
    }
    sortBy(events, [](const MemoryEvent& e) { return e.time; });
    return events;
}

std::vector<CounterEvent> RandomEvents::counters(std::size_t count) {
    std::vector<CounterEvent> events(count);
    const bool whole = between(0, 1) == 0;
    for (CounterEvent& e : events) {
        e.time = {magnitude(60)};
        e.lane = {static_cast<std::uint32_t>(between(0, 3))};
        e.value = whole ? static_cast<double>(magnitude(50))
                        : std::bit_cast<double>(bits() & 0xBFEFFFFFFFFFFFFFu);
    }
    sortBy(events, [](const CounterEvent& e) { return e.time; });
    return events;
}

std::vector<FlowEvent> RandomEvents::flows(std::size_t count) {
    std::vector<FlowEvent> events(count);
    for (FlowEvent& e : events) {
        e.time = {magnitude(60) * (between(0, 1) == 0 ? 1 : -1)};
        e.lane = {static_cast<std::uint32_t>(between(0, 3))};
        e.id = bits() >> between(0, 63);
        for (StringId* text : {&e.idText, &e.name, &e.category, &e.arguments})
            *text = {static_cast<std::uint32_t>(bits() >> between(32, 63))};
        e.step = {static_cast<std::int32_t>(bits())};
        e.point = static_cast<FlowPoint>(between(1, 3));
        e.binding = static_cast<FlowBinding>(between(1, 2));
        e.depth = static_cast<std::uint8_t>(between(0, 255));
        e.bound = between(0, 1) == 0;
        if (e.bound) e.spanStart = {e.time.ns + magnitude(60) * (between(0, 1) == 0 ? 1 : -1)};
    }
    sortBy(events, [](const FlowEvent& e) { return e.time; });
    return events;
}

std::vector<InstantEvent> RandomEvents::instants(std::size_t count) {
    std::vector<InstantEvent> events(count);
    for (InstantEvent& e : events) {
        e.time = {magnitude(60)};
        e.lane = {static_cast<std::uint32_t>(between(0, 3))};
        e.name = {static_cast<std::uint32_t>(bits() >> between(32, 63))};
        e.arguments = {static_cast<std::uint32_t>(bits() >> between(32, 63))};
        e.step = {static_cast<std::int32_t>(bits())};
        e.scope = static_cast<InstantScope>(between(1, 3));
    }
    sortBy(events, [](const InstantEvent& e) { return e.time; });
    return events;
}

std::vector<CollectiveEvent> RandomEvents::collectives(std::size_t count) {
    std::vector<CollectiveEvent> events(count);
    for (CollectiveEvent& e : events) {
        e.operation = static_cast<CollectiveOp>(between(1, 5));
        e.dtype = static_cast<DataType>(between(1, 6));
        e.cause = static_cast<Cause>(between(0, 7));
        e.layer = {static_cast<std::int16_t>(bits())};
        e.step = {static_cast<std::int32_t>(bits())};
        e.group = static_cast<std::uint32_t>(bits());
        e.sequence = bits();
        e.size = {magnitude(60)};
        e.algorithm = {static_cast<std::uint32_t>(bits())};
        e.protocol = {static_cast<std::uint32_t>(bits())};
        e.start = {magnitude(60)};
        e.issue = {e.start.ns - magnitude(40)};
        e.end = {e.start.ns + magnitude(40)};
        e.arrivals = {static_cast<std::size_t>(between(0, 5)),
                      [&](std::size_t) { return Timestamp{e.start.ns + between(-1000, 1000)}; }};
    }
    sortBy(events, [](const CollectiveEvent& e) { return e.start; });
    return events;
}

std::vector<SpanEvent> RandomEvents::nestedSpans(std::size_t count, Timestamp from) {
    std::vector<SpanEvent> events;
    Timestamp at = from;
    while (events.size() < count) {
        const Duration outer{1000 + magnitude(24)};
        TimeRange range{at, at + outer};
        const auto depths = between(1, 4);
        for (std::int64_t depth = 0; depth < depths && !range.empty(); ++depth) {
            SpanEvent e;
            e.start = range.begin;
            e.duration = range.duration();
            e.depth = static_cast<std::uint8_t>(depth);
            e.name = {static_cast<std::uint32_t>(between(1, 200))};
            e.correlation = events.size() + 1;
            e.step = {static_cast<std::int32_t>(events.size() / 1000)};
            e.layer = {static_cast<std::int16_t>(between(0, 11))};
            e.phase = Phase::kForward;
            events.push_back(e);
            const std::int64_t inset = range.duration().ns / 8;
            range = {{range.begin.ns + between(0, inset)}, {range.end.ns - between(0, inset)}};
        }
        at = at + outer + Duration{magnitude(18)};
    }
    sortBy(events, [](const SpanEvent& e) { return e.start; });
    events.resize(count);
    return events;
}

}  // namespace shardscope::test
