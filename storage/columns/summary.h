// What a bucket of time holds: the level-of-detail values that drawing works with.
//
// Merging is associative and commutative, so buckets may be built in any order and from parts.
#pragma once

#include "storage/model/events.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace shardscope::columns {

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

}  // namespace shardscope::columns
