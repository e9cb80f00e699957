// Level-of-detail pyramid of one lane: what to draw when a pixel holds many events.
//
// Level l has buckets of 2^(20 + 2l) ns. A bucket sums up the spans (or samples) that start in it
// and are shorter than it. A span is kept by itself on exactly one level, the highest whose
// buckets it fills. So what level l shows is: its own summaries, and the lone spans of all levels
// above. Summaries are kept in segments of 1,024 buckets, which are what is stored and reloaded.
//
// Built in any order from any parts. Lives on the recorder's thread.
#pragma once

#include "storage/model/events.h"
#include "storage/model/result.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

namespace shardscope::columns {

// What a bucket of time holds: the level-of-detail values that drawing works with.
//
// Merging is associative and commutative, so buckets may be built in any order and from parts.

/// One span, or several of one lane and depth that start in the same bucket.
struct SpanSummary {
    Timestamp first;  ///< earliest start
    Timestamp last;   ///< latest end
    Duration busy;    ///< sum of durations
    std::uint32_t count = 0;
    Duration longest;  ///< of the dominant span, whose facts follow
    StringId name;
    LayerIndex layer = kNoLayer;
    StepIndex step = kNoStep;
    Phase phase = Phase::kNone;
    std::uint8_t depth = 0;
    std::uint64_t correlation = 0;
    StringId arguments;

    static SpanSummary of(const SpanEvent& e) {
        return {e.start, e.end(), e.duration, 1,       e.duration,    e.name,
                e.layer, e.step,  e.phase,    e.depth, e.correlation, e.arguments};
    }
    [[nodiscard]] Timestamp time() const { return first; }
    /// Longest wins; the rest only makes ties independent of order.
    [[nodiscard]] auto dominance() const {
        return std::tuple(longest.ns, -step.value, -layer.value, -static_cast<int>(phase),
                          -std::int64_t{name.value});
    }
    /// Several spans have no correlation or arguments in common.
    void merge(const SpanSummary& other) {
        if (longest < other.longest ||
            (longest == other.longest && dominance() < other.dominance())) {
            longest = other.longest;
            name = other.name;
            layer = other.layer;
            step = other.step;
            phase = other.phase;
        }
        correlation = 0;
        arguments = kEmptyString;
        first = std::min(first, other.first);
        last = std::max(last, other.last);
        busy += other.busy;
        count += other.count;
    }
    friend bool operator==(const SpanSummary&, const SpanSummary&) = default;
};

/// Samples of one counter lane that fall into the same bucket.
struct CounterSummary {
    Timestamp first;
    Timestamp last;
    double minimum = 0;
    double maximum = 0;
    double latest = 0;  ///< value at `last`
    std::uint32_t count = 0;

    static CounterSummary of(const CounterEvent& e) {
        return {e.time, e.time, e.value, e.value, e.value, 1};
    }
    [[nodiscard]] Timestamp time() const { return first; }
    /// `other` came later: of two samples at one instant the later one stays in force.
    void merge(const CounterSummary& other) {
        if (other.last >= last) {
            last = other.last;
            latest = other.latest;
        }
        first = std::min(first, other.first);
        minimum = std::min(minimum, other.minimum);
        maximum = std::max(maximum, other.maximum);
        count += other.count;
    }
    friend bool operator==(const CounterSummary&, const CounterSummary&) = default;
};

/// Merges what starts within one cell of 2^shift ns into one summary; spans as long as a cell or
/// longer stay alone. Cells lie on absolute time, so panning never regroups. Takes items by start.
class SpanGrouper {
public:
    explicit SpanGrouper(int shift) : m_shift(shift) {}
    void add(const SpanSummary& item);
    /// By depth, then start; the grouper is empty after.
    [[nodiscard]] std::vector<SpanSummary> take();

private:
    int m_shift;
    std::vector<std::vector<SpanSummary>> m_byDepth;
};

inline constexpr int kPyramidLevels = 13;
inline constexpr int kBaseShift = 20;
inline constexpr int kLevelShift = 2;
inline constexpr int kSegmentShift = 10;
/// Below this level a segment is stored only where it saves much: kWorthStoring events a summary.
inline constexpr int kFirstLevelAlwaysStored = 2;
inline constexpr std::uint64_t kWorthStoring = 8;

[[nodiscard]] constexpr int bucketShift(int level) {
    return kBaseShift + kLevelShift * level;
}
[[nodiscard]] constexpr std::int64_t segmentOf(int level, Timestamp time) {
    return time.ns >> (bucketShift(level) + kSegmentShift);
}
[[nodiscard]] constexpr TimeRange segmentRange(int level, std::int64_t segment) {
    const std::int64_t width = std::int64_t{1} << (bucketShift(level) + kSegmentShift);
    return {{segment * width}, {segment * width + width}};
}

/// A single span that fills a bucket of the level: it stands alone there.
[[nodiscard]] inline bool standsAlone(const SpanSummary& s, int level) {
    return s.count == 1 && s.busy.ns >= std::int64_t{1} << bucketShift(level);
}
[[nodiscard]] inline bool standsAlone(const CounterSummary&, int) {
    return false;
}

/// Whether a lone span belongs to this level rather than a higher one.
[[nodiscard]] inline bool belongsTo(const SpanSummary& s, int level) {
    return level + 1 == kPyramidLevels || !standsAlone(s, level + 1);
}
[[nodiscard]] inline bool belongsTo(const CounterSummary&, int) {
    return true;
}

[[nodiscard]] inline std::size_t depthOf(const SpanSummary& s) {
    return s.depth;
}
[[nodiscard]] inline std::size_t depthOf(const CounterSummary&) {
    return 0;
}

template <class Summary>
class PyramidSegment {
public:
    void add(int level, const Summary& item);
    /// By depth, then start.
    [[nodiscard]] std::vector<Summary> summaries() const;
    /// Without what started before `time`, as far as summaries tell it apart.
    [[nodiscard]] PyramidSegment since(Timestamp time, int level) const;
    [[nodiscard]] std::size_t size() const { return m_size; }
    [[nodiscard]] std::uint64_t events() const { return m_events; }

private:
    struct DepthItems {
        std::vector<Summary> merged;  ///< at most one a bucket, by bucket
        std::vector<Summary> alone;   ///< in the order they came: a bucket may hold any number
    };
    std::vector<DepthItems> m_byDepth;
    std::size_t m_size = 0;
    std::uint64_t m_events = 0;
};

template <class Summary>
class LanePyramid {
public:
    struct Key {
        int level = 0;
        std::int64_t segment = 0;
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    /// Gives back what write() stored under a key.
    using Load = std::function<Result<std::vector<Summary>>(const Key&)>;
    using Store = std::function<Result<void>(const Key&, const std::vector<Summary>&)>;

    explicit LanePyramid(Load load) : m_load(std::move(load)) {}

    /// Each item is one event.
    Result<void> add(std::span<const Summary> items);

    /// Stores every segment changed since it was stored last. The finest levels are left out where
    /// reading the events themselves costs little more.
    Result<void> write(const Store& store);

    /// Summaries held in memory.
    [[nodiscard]] std::size_t size() const;
    /// Of these, those that the next write() stores.
    [[nodiscard]] std::size_t changedSize() const;
    /// Forgets stored segments that were not touched during the last `ages` calls of add().
    void forget(std::uint64_t ages);

    using Remove = std::function<Result<void>(const Key&)>;
    /// Forgets what started before `time`, and stores or removes stored segments that it changed. A
    /// summary of events on both sides stays whole: at most one a level and depth.
    Result<void> trim(Timestamp time, const Store& store, const Remove& remove);

    /// For tests and for lanes that were never stored: a segment as it stands.
    [[nodiscard]] std::vector<Summary> segment(const Key& key) const;

private:
    struct Held {
        PyramidSegment<Summary> segment;
        bool changed = false;
        std::uint64_t touched = 0;
    };

    Result<void> push(int level, const Summary& item);
    Result<void> put(int level, const Summary& item);
    Result<void> hold(const Key& key);
    Result<void> emit(int level, Summary& open);
    [[nodiscard]] static bool worthStoring(const Key& key, const Held& held);

    Load m_load;
    std::map<Key, Held> m_segments;
    std::set<Key> m_stored;
    std::set<Key> m_left;  ///< forgotten without having been stored
    /// The bucket being filled, by level and depth; count 0: none.
    std::array<std::vector<Summary>, kPyramidLevels> m_open;
    std::uint64_t m_age = 0;
};

extern template class PyramidSegment<SpanSummary>;
extern template class PyramidSegment<CounterSummary>;
extern template class LanePyramid<SpanSummary>;
extern template class LanePyramid<CounterSummary>;

/// Segments as blobs (storage/schema/FORMAT.md). Decoding never trusts its input.
std::vector<std::byte> encodeSummaries(std::span<const SpanSummary> summaries);
std::vector<std::byte> encodeSummaries(std::span<const CounterSummary> summaries);
Result<std::vector<SpanSummary>> decodeSpanSummaries(std::span<const std::byte> blob);
Result<std::vector<CounterSummary>> decodeCounterSummaries(std::span<const std::byte> blob);

}  // namespace shardscope::columns
