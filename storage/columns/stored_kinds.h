// The kinds of events that a recording keeps as chunks, listed once: a type each, with what differs
// between them. What is done for all of them goes over this list.
//
// Collectives are not among them: they are rows of a table, and chunks only on their way there.
#pragma once

#include "storage/columns/chunk.h"

#include <array>
#include <string>
#include <tuple>
#include <vector>

namespace shardscope::columns {

/// `kind`, encode() and decode(); `lanes`: each event lies on a lane; timeOf() is what events are
/// in order of; texts() are pointers to the strings and arguments that an event refers to, empty
/// ones among them.
template <class Event>
struct StoredKind;

template <>
struct StoredKind<SpanEvent> {
    static constexpr EventKind kind = EventKind::kSpan;
    static constexpr bool lanes = true;
    static constexpr auto encode = encodeSpans;
    static constexpr auto decode = decodeSpans;
    static auto& timeOf(auto& e) { return e.start; }
    static auto texts(auto& e) { return std::array{&e.name, &e.arguments}; }
};

template <>
struct StoredKind<MemoryEvent> {
    static constexpr EventKind kind = EventKind::kMemory;
    static constexpr bool lanes = false;
    static constexpr auto encode = encodeMemory;
    static constexpr auto decode = decodeMemory;
    static auto& timeOf(auto& e) { return e.time; }
    static auto texts(auto& e) { return std::array{&e.owner, &e.arguments}; }
};

template <>
struct StoredKind<CounterEvent> {
    static constexpr EventKind kind = EventKind::kCounter;
    static constexpr bool lanes = true;
    static constexpr auto encode = encodeCounters;
    static constexpr auto decode = decodeCounters;
    static auto& timeOf(auto& e) { return e.time; }
    static auto texts(const CounterEvent&) { return std::array<const StringId*, 0>{}; }
};

template <>
struct StoredKind<FlowEvent> {
    static constexpr EventKind kind = EventKind::kFlow;
    static constexpr bool lanes = true;
    static constexpr auto encode = encodeFlows;
    static constexpr auto decode = decodeFlows;
    static auto& timeOf(auto& e) { return e.time; }
    static auto texts(auto& e) { return std::array{&e.idText, &e.name, &e.category, &e.arguments}; }
};

template <>
struct StoredKind<InstantEvent> {
    static constexpr EventKind kind = EventKind::kInstant;
    static constexpr bool lanes = true;
    static constexpr auto encode = encodeInstants;
    static constexpr auto decode = decodeInstants;
    static auto& timeOf(auto& e) { return e.time; }
    static auto texts(auto& e) { return std::array{&e.name, &e.arguments}; }
};

using StoredEvents = std::tuple<SpanEvent, MemoryEvent, CounterEvent, FlowEvent, InstantEvent>;

/// Calls `use` with the StoredKind of `kind`; false where recordings keep no chunks of it.
template <class Use>
bool withStoredKind(EventKind kind, Use use) {
    return std::apply(
        [&]<class... Event>(const Event&...) {
            return ((StoredKind<Event>::kind == kind && (use(StoredKind<Event>{}), true)) || ...);
        },
        StoredEvents{});
}

/// "(1,2,3,5,6)", for SQL.
[[nodiscard]] inline std::string storedKindsInSql() {
    std::string list;
    std::apply(
        [&]<class... Event>(const Event&...) {
            (list.append(list.empty() ? "(" : ",")
                 .append(std::to_string(static_cast<int>(StoredKind<Event>::kind))),
             ...);
        },
        StoredEvents{});
    list.push_back(')');
    return list;
}

/// How instants are drawn and summed up: as spans without length.
[[nodiscard]] inline std::vector<SpanEvent> asSpans(const std::vector<InstantEvent>& instants) {
    std::vector<SpanEvent> spans(instants.size());
    for (std::size_t i = 0; i < instants.size(); ++i) {
        spans[i].start = instants[i].time;
        spans[i].lane = instants[i].lane;
        spans[i].name = instants[i].name;
        spans[i].arguments = instants[i].arguments;
        spans[i].step = instants[i].step;
    }
    return spans;
}

}  // namespace shardscope::columns
