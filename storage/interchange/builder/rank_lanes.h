// The lanes of one rank of a trace that is being built, with the events that wait in each for
// their order. Part of the trace builder. One thread.
#pragma once

#include "storage/interchange/pending_events.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace shardscope::interchange {

/// Kernels of a stream that end after one that began behind them: a stream runs one after another,
/// so that an end was lost, or two streams share a row. Not those of one launch (graphs).
class Overruns {
public:
    /// By start.
    void add(const SpanEvent& span) {
        if (span.end() < m_last.end() && span.correlation != m_last.correlation) {
            if (!m_counted) ++m_count;
            m_counted = true;
            m_longest = std::max(m_longest, m_last.end() - span.start);
        }
        if (span.end() < m_last.end()) return;
        m_last = span;
        m_counted = false;
    }
    [[nodiscard]] std::uint64_t count() const { return m_count; }
    [[nodiscard]] Duration longest() const { return m_longest; }

private:
    SpanEvent m_last;
    bool m_counted = false;  ///< m_last is
    std::uint64_t m_count = 0;
    Duration m_longest;  ///< from the start of the next to the end
};

struct BuiltLane {
    LaneFacts facts;
    bool needed = true;   ///< has a row even if nothing lies on it
    bool stored = false;  ///< some event of it is in the file
    bool shown = false;   ///< its row is, and is as `facts` are
    PendingEvents<SpanEvent> spans;
    PendingEvents<InstantEvent> instants;
    EventWindow<CounterEvent> samples;
    DepthRows rows;
    Overruns overruns;

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
    /// Where there are too many of a kind, those behind share one (sharing()).
    Result<LaneId> lane(const LaneSource& key, LaneRole role, const std::string& name,
                        const std::string& unit);
    /// Likewise; one that is made here is not needed.
    Result<LaneId> laneIfUsed(const LaneSource& key, LaneRole role, const std::string& name);
    /// With the id that it has.
    Result<void> declare(const LaneFacts& facts);

    /// Keys whose events lie on a lane of several.
    [[nodiscard]] std::size_t sharing() const { return m_sharing; }
    /// Null when it was never made; stays where it is.
    [[nodiscard]] BuiltLane* find(LaneId id);
    [[nodiscard]] auto begin() { return m_lanes.begin(); }
    [[nodiscard]] auto end() { return m_lanes.end(); }

private:
    [[nodiscard]] LaneId sharedLane(const LaneSource& key, LaneRole role, LaneId id);
    [[nodiscard]] Result<void> tooMany(std::size_t count, const std::string& kind) const;

    RankId m_rank;
    std::map<LaneSource, LaneId> m_keys;
    std::map<LaneId, BuiltLane> m_lanes;
    std::size_t m_sharing = 0;
    std::map<std::uint32_t, std::uint32_t> m_made;  ///< by the first lane of their range
};

}  // namespace shardscope::interchange
