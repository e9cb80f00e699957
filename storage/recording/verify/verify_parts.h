// What the parts of verifyRecording share. Internal to storage/recording.
#pragma once

#include "storage/columns/arguments.h"
#include "storage/columns/pyramid.h"
#include "storage/recording/file/chunk_directory.h"
#include "storage/recording/verify/argument_audit.h"
#include "storage/recording/verify/verify_recording.h"

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

namespace shardscope::storage {

/// What rows and events may refer to.
struct KnownRows {
    std::set<std::uint32_t> ranks;
    std::map<std::pair<RankId, LaneId>, LaneRole> lanes;
    std::unordered_set<std::uint64_t> strings;

    static std::uint64_t key(RankId rank, StringId id) {
        return std::uint64_t{rank.value} << 32 | id.value;
    }
    [[nodiscard]] bool hasString(RankId rank, StringId id) const {
        return id == kEmptyString || strings.contains(key(rank, id));
    }
};

struct VerifyContext {
    Connection& connection;
    Verification& found;
    KnownRows known;
    std::map<RankId, std::uint64_t> eventsOfRank;                 ///< stored, collectives included
    std::set<std::pair<std::string, std::int64_t>> missingRanks;  ///< said already, by table
    std::set<std::pair<RankId, LaneId>> spanLanes = {};           ///< that hold spans
    std::optional<ArgumentAudit> arguments = std::nullopt;        ///< of a file that has some
    std::vector<DetailFacts> detail{};

    /// A string, or arguments.
    [[nodiscard]] Timestamp thinnedUntil(RankId rank, LaneId lane) const {
        const auto at = known.lanes.find({rank, lane});
        const bool fullOnly =
            isMemoryLane(lane) || (at != known.lanes.end() && isFullOnly(at->second));
        return shardscope::thinnedUntil(detail, rank, fullOnly);
    }
    [[nodiscard]] bool hasText(RankId rank, StringId id) const {
        if (!columns::isArguments(id)) return known.hasString(rank, id);
        return arguments && arguments->holds(rank, id);
    }
};

/// All tables of rows: who refers to whom, times that run backwards.
void verifyRows(VerifyContext& context);
/// Every chunk, memory state and pyramid segment.
void verifyChunks(VerifyContext& context);

/// Runs `sql` and calls `use` for every row; a file that cannot be read there is a fault of
/// `where`.
template <class Use>
bool forRows(VerifyContext& context, const char* where, const std::string& sql, Use use) {
    auto select = context.connection.prepare(sql);
    while (select) {
        auto row = select->step();
        if (!row) {
            context.found.add(where, "cannot be read to its end: " + row.error().message);
            return false;
        }
        if (!*row) return true;
        use(*select);
    }
    context.found.add(where, "cannot be read: " + select.error().message);
    return false;
}

// Holds a lane's stored pyramid against its events. Part of verifyRecording.

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
