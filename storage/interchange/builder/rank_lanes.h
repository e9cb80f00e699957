// The lanes of one rank of a trace that is being built, with the events that wait in each for
// their order. Part of the trace builder. One thread.
#pragma once

#include "storage/interchange/pending_events.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace shardscope::interchange {

struct BuiltLane {
    LaneFacts facts;
    bool needed = true;   ///< has a row even if nothing lies on it
    bool stored = false;  ///< some event of it is in the file
    bool shown = false;   ///< its row is, and is as `facts` are
    PendingEvents<SpanEvent> spans;
    PendingEvents<InstantEvent> instants;
    EventWindow<CounterEvent> samples;
    DepthRows rows;

    /// What waits, in events: one is about 60 bytes, a number of its arguments 8.
    [[nodiscard]] std::size_t waiting() const {
        return spans.size() + instants.size() + samples.size() +
               (spans.numbers() + instants.numbers()) / 8;
    }
};

class RankLanes {
public:
    explicit RankLanes(RankId rank) : m_rank(rank) {}

    /// The lane of this key, made at the first call; a later role other than kHost replaces kHost.
    /// kUnreadable with a sentence where there are too many.
    Result<LaneId> lane(const LaneSource& key, LaneRole role, const std::string& name,
                        const std::string& unit);
    /// Likewise; one that is made here is not needed.
    Result<LaneId> laneIfUsed(const LaneSource& key, LaneRole role, const std::string& name);
    /// With the id that it has.
    Result<void> declare(const LaneFacts& facts);

    /// Null when it was never made; stays where it is.
    [[nodiscard]] BuiltLane* find(LaneId id);
    [[nodiscard]] auto begin() { return m_lanes.begin(); }
    [[nodiscard]] auto end() { return m_lanes.end(); }

private:
    [[nodiscard]] Result<void> tooMany(std::size_t count, const std::string& kind) const;

    RankId m_rank;
    std::map<LaneSource, LaneId> m_keys;
    std::map<LaneId, BuiltLane> m_lanes;
    std::map<std::uint32_t, std::uint32_t> m_made;  ///< by the first lane of their range
};

}  // namespace shardscope::interchange
