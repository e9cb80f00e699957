// What is asked of the side that serves a recording, and what it answers: a struct a question, with
// its answer's type. The order in `Call` is their number; a change of it, or of what travels of a
// type (wire_types.h, storage/model), is a new kVersion.
#pragma once

#include "storage/recording/remote/folder_list.h"
#include "storage/recording/remote/wire_types.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

namespace shardscope::storage::remote {

inline constexpr std::uint32_t kVersion = 3;

/// Opens a recording in the place of the one that was open.
struct Open {
    using Answer = std::uint8_t;  ///< 1: some process was writing it; 0: none was seen to
    std::string path;             ///< absolute, or "~/..."
};
struct Summary {
    using Answer = RecordingSummary;
};
/// Of strings or arguments (columns::kFirstArguments) from `first` on; empty where there is none.
/// The answer may be shorter, where they are long.
struct Texts {
    using Answer = std::vector<std::string>;
    RankId rank;
    StringId first;
    std::uint32_t count = 0;
};
struct EventsOfRank {
    using Answer = RankEvents;
    RankId rank;
    TimeRange range;
};
struct SpansOfLane {
    using Answer = std::vector<SpanEvent>;
    RankId rank;
    LaneId lane;
    TimeRange range;
};
struct SpansNaming {
    using Answer = std::vector<SpanEvent>;
    RankId rank;
    LaneId lane;
    TimeRange range;
    std::vector<StringId> texts;
};
struct SpansInView {
    using Answer = std::vector<std::vector<LaneSlice>>;
    std::vector<LaneAddress> lanes;
    TimeRange range;
    Duration resolution;
};
struct CountersInView {
    using Answer = std::vector<std::vector<CounterSlice>>;
    std::vector<LaneAddress> lanes;
    TimeRange range;
    Duration resolution;
};
struct SamplesOfLane {
    using Answer = std::vector<CounterEvent>;
    RankId rank;
    LaneId lane;
    TimeRange range;
};
struct MemoryOfRank {
    using Answer = std::vector<MemoryEvent>;
    RankId rank;
    TimeRange range;
};
struct LiveMemory {
    using Answer = std::vector<MemoryEvent>;
    RankId rank;
    Timestamp time;
};
struct InstantsOfLane {
    using Answer = std::vector<InstantEvent>;
    RankId rank;
    LaneId lane;
    TimeRange range;
};
struct FlowsOfLane {
    using Answer = std::vector<FlowEvent>;
    RankId rank;
    LaneId lane;
    TimeRange range;
};
struct Arrows {
    using Answer = std::vector<FlowArrow>;
    RankId rank;
    LaneId lane;
    Timestamp start;
    std::uint8_t depth = 0;
};
struct Query {
    using Answer = TableResult;
    std::string sql;
};
struct ListFolder {
    using Answer = FolderList;
    std::string path;  ///< absolute, or "~/..."
};

using Call = std::variant<Open, Summary, Texts, EventsOfRank, SpansOfLane, SpansInView,
                          CountersInView, SamplesOfLane, MemoryOfRank, LiveMemory, InstantsOfLane,
                          FlowsOfLane, Arrows, Query, ListFolder, SpansNaming>;

/// Strings of a rank that an answer names, once for each connection; they travel before it.
struct NamedText {
    RankId rank;
    StringId id;
    std::string text;
};

/// Of an Error, and of what is told while a connection is made (code 0).
struct Said {
    std::int32_t code = 0;
    std::string message;
};

constexpr auto wireMembers(std::type_identity<Open>) {
    return std::tuple(&Open::path);
}
constexpr auto wireMembers(std::type_identity<Summary>) {
    return std::tuple();
}
constexpr auto wireMembers(std::type_identity<Texts>) {
    return std::tuple(&Texts::rank, &Texts::first, &Texts::count);
}
constexpr auto wireMembers(std::type_identity<EventsOfRank>) {
    return std::tuple(&EventsOfRank::rank, &EventsOfRank::range);
}
/// Those that ask for what lies on one lane within a range.
template <class Asked>
constexpr auto membersOfLane() {
    return std::tuple(&Asked::rank, &Asked::lane, &Asked::range);
}
constexpr auto wireMembers(std::type_identity<SpansOfLane>) {
    return membersOfLane<SpansOfLane>();
}
constexpr auto wireMembers(std::type_identity<SpansNaming>) {
    using N = SpansNaming;
    return std::tuple(&N::rank, &N::lane, &N::range, &N::texts);
}
constexpr auto wireMembers(std::type_identity<SamplesOfLane>) {
    return membersOfLane<SamplesOfLane>();
}
constexpr auto wireMembers(std::type_identity<InstantsOfLane>) {
    return membersOfLane<InstantsOfLane>();
}
constexpr auto wireMembers(std::type_identity<FlowsOfLane>) {
    return membersOfLane<FlowsOfLane>();
}
constexpr auto wireMembers(std::type_identity<SpansInView>) {
    using V = SpansInView;
    return std::tuple(&V::lanes, &V::range, &V::resolution);
}
constexpr auto wireMembers(std::type_identity<CountersInView>) {
    using V = CountersInView;
    return std::tuple(&V::lanes, &V::range, &V::resolution);
}
constexpr auto wireMembers(std::type_identity<MemoryOfRank>) {
    return std::tuple(&MemoryOfRank::rank, &MemoryOfRank::range);
}
constexpr auto wireMembers(std::type_identity<LiveMemory>) {
    return std::tuple(&LiveMemory::rank, &LiveMemory::time);
}
constexpr auto wireMembers(std::type_identity<Arrows>) {
    return std::tuple(&Arrows::rank, &Arrows::lane, &Arrows::start, &Arrows::depth);
}
constexpr auto wireMembers(std::type_identity<Query>) {
    return std::tuple(&Query::sql);
}
constexpr auto wireMembers(std::type_identity<ListFolder>) {
    return std::tuple(&ListFolder::path);
}
constexpr auto wireMembers(std::type_identity<NamedText>) {
    return std::tuple(&NamedText::rank, &NamedText::id, &NamedText::text);
}
constexpr auto wireMembers(std::type_identity<Said>) {
    return std::tuple(&Said::code, &Said::message);
}

/// Times of which sums and differences do not overflow.
template <class Asked>
requires requires(const Asked& asked, typename Asked::Answer) {
    asked.range;
}
[[nodiscard]] constexpr bool isSound(const Asked& asked) {
    return isNear(asked.range.begin.ns) && isNear(asked.range.end.ns);
}
[[nodiscard]] constexpr bool isSound(const LiveMemory& asked) {
    return isNear(asked.time.ns);
}

}  // namespace shardscope::storage::remote
