// Holds a lane's stored pyramid against its events. Part of verifyRecording.
#pragma once

#include "storage/columns/pyramid.h"
#include "storage/recording/verify/verify_parts.h"

#include <array>
#include <limits>

namespace shardscope::storage {

/// What a segment sums up, in a form that no order of merging changes.
struct SegmentSum {
    std::uint64_t count = 0;
    std::uint64_t busy = 0;  ///< ns, modulo 2^64
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    double minimum = std::numeric_limits<double>::infinity();
    double maximum = -std::numeric_limits<double>::infinity();

    void add(const columns::SpanSummary& s);
    void add(const columns::CounterSummary& s);
    /// Whether it may sum up more than `part`, but nothing of that is missing.
    [[nodiscard]] bool holds(const SegmentSum& part) const;
    friend bool operator==(const SegmentSum&, const SegmentSum&) = default;
};

class PyramidAudit {
public:
    PyramidAudit(VerifyContext& context, RankId rank, LaneId lane)
        : m_context(context),
          m_rank(rank),
          m_lane(lane),
          m_thinned(context.thinnedUntil(rank, lane)) {}

    /// Decodes what is stored; `spans` says of which kind it must be.
    void load(bool spans);
    void add(std::int64_t chunk, const std::vector<SpanEvent>& events);
    void add(std::int64_t chunk, const std::vector<CounterEvent>& samples);
    /// Says what does not agree. Lanes of memory repeat the value in force at the beginning of
    /// every chunk, so that only their bounds can be compared.
    void compare(bool memory);

private:
    struct Segment {
        std::int64_t throughChunk = 0;
        bool stored = false;
        SegmentSum summed;  ///< of the stored summaries
        SegmentSum found;   ///< of the events
    };
    using Key = std::pair<int, std::int64_t>;

    template <class Summary>
    void addFrom(int level, std::int64_t chunk, const Summary& item);
    [[nodiscard]] std::string nameOf(const Key& key) const;

    VerifyContext& m_context;
    RankId m_rank;
    LaneId m_lane;
    Timestamp m_thinned;  ///< a bucket around it may sum up events that are gone
    std::map<Key, Segment> m_segments;
    std::array<std::pair<std::int64_t, Segment*>, columns::kPyramidLevels> m_recent{};
    bool m_trusted = true;     ///< every segment could be read
    bool m_anyStored = false;  ///< else the lane has no pyramid
};

}  // namespace shardscope::storage
