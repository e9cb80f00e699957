// The strings that an answer names, and the arguments of what is in view; others are asked for
// (calls.h, Texts).
#pragma once

#include "storage/columns/arguments.h"
#include "storage/recording/remote/calls.h"

#include <cstddef>
#include <type_traits>
#include <vector>

namespace shardscope::storage::remote {

/// Calls `use` with each; empty ones among them. Of what names nothing with none.
template <class Value, class Use>
void forEachName(const Value&, Use) {}
template <class Use>
void forEachName(const SpanEvent& event, Use use) {
    use(event.name);
}
template <class Use>
void forEachName(const InstantEvent& event, Use use) {
    use(event.name);
}
template <class Use>
void forEachName(const LaneSlice& slice, Use use) {
    use(slice.name);
    use(slice.arguments);
}
template <class Use>
void forEachName(const MemoryEvent& event, Use use) {
    use(event.owner);
}
template <class Use>
void forEachName(const CollectiveEvent& event, Use use) {
    use(event.algorithm);
    use(event.protocol);
}
template <class Use>
void forEachName(const FlowEvent& event, Use use) {
    use(event.idText);
    use(event.name);
    use(event.category);
}
template <class Event, class Use>
void forEachName(const std::vector<Event>& events, Use use) {
    for (const Event& event : events) forEachName(event, use);
}
template <class Use>
void forEachName(const RankEvents& events, Use use) {
    forEachName(events.phases, use);
    forEachName(events.collectives, use);
}

/// Calls `use` with rank and id of each.
template <class Asked, class Use>
void forEachNameOf(const Asked& asked, const typename Asked::Answer& answer, Use use) {
    const auto ofRank = [&](RankId rank, const auto& events) {
        forEachName(events, [&](StringId id) { use(rank, id); });
    };
    if constexpr (std::is_same_v<Asked, SpansInView>) {
        for (std::size_t i = 0; i < answer.size() && i < asked.lanes.size(); ++i)
            ofRank(asked.lanes[i].rank, answer[i]);
    } else if constexpr (requires { asked.rank; }) {
        ofRank(asked.rank, answer);
    }
}

}  // namespace shardscope::storage::remote
