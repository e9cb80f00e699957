// What a recording is asked: a struct a question, with its answer's type. Who asks calls the
// functions of RecordingReader; who answers, hands on or carries away sees these.
#pragma once

#include "storage/model/collective_key.h"
#include "storage/recording/read/recording_reader.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace shardscope::storage {

struct Summary {
    using Answer = RecordingSummary;
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
    View view;
};
struct CountersInView {
    using Answer = std::vector<std::vector<CounterSlice>>;
    std::vector<LaneAddress> lanes;
    View view;
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
struct ArrowsOfSpan {
    using Answer = std::vector<FlowArrow>;
    RankId rank;
    LaneId lane;
    Timestamp start;
    std::uint8_t depth = 0;
};
struct CollectivesOfKeys {
    using Answer = std::vector<CollectiveEvent>;
    RankId rank;
    std::vector<CollectiveKey> keys;
};
struct SqlQuery {
    using Answer = TableResult;
    std::string sql;
    std::uint64_t mostRows = 0;  ///< 0: all
    Generation generation = {};  ///< kCancelled soon after it was superseded
};

/// The order is their number between machines: a change of it is a new remote::kVersion.
using Question =
    std::variant<Summary, EventsOfRank, SpansOfLane, SpansNaming, SpansInView, CountersInView,
                 SamplesOfLane, MemoryOfRank, LiveMemory, InstantsOfLane, FlowsOfLane, ArrowsOfSpan,
                 SqlQuery, CollectivesOfKeys>;

/// A question, and where its answer goes. Both belong to who asks.
template <class Asked>
struct Request {
    const Asked& asked;
    typename Asked::Answer& answer;
};

template <class Questions>
struct RequestsOf;
template <class... Asked>
struct RequestsOf<std::variant<Asked...>> {
    using Any = std::variant<Request<Asked>...>;
};
struct AnyRequest : RequestsOf<Question>::Any {
    using RequestsOf<Question>::Any::variant;
};

}  // namespace shardscope::storage
