// How far times of different hosts can be compared: what their clocks were measured to, and what
// collectives prove of what is left.
//
// Between two comparisons of a host's clock its times are off by no more than |residual| + error of
// the worse of the two: before the first of what was left then, at the second by what has come up
// since (storage/model: ClockFacts; both clocks run evenly in between).
//
// No rank leaves an all-gather, all-reduce, reduce-scatter or barrier before the last has arrived
// (bounds of this kind: Duda et al., Estimating global time in distributed systems, ICDCS 1987). So
// what the times of host A are ahead of those of host B is at most end on A less arrival on B, and
// at least arrival on A less end on B. Bounds hold for windows of ten seconds. Where they are
// tighter than what was measured they count instead; where they contradict it, nothing that two
// hosts stamped there can be compared.
#pragma once

#include "storage/model/recording.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope::analysis {

/// A host's clock over the run.
struct HostClock {
    std::int32_t host = 0;
    std::string name;
    std::int64_t comparisons = 0;  ///< while ranks ran; 0: the recorder's own, or an older file
    std::int64_t offsetNs = 0;     ///< the last; recording clock = host clock + offset
    std::int64_t driftPpb = 0;     ///< the last
    /// What its times may be off by, median and most over comparisons that did not find the clock
    /// set; what was measured, tightened by collectives with the recorder's own host.
    Duration residual, worstResidual;
    std::int64_t steps = 0;  ///< times the clock was set
};

/// "right within 5.1 us (worst 83.0 us), drift 150.0 ppm, compared 12 times, set once".
[[nodiscard]] std::string clockText(const HostClock& clock);

/// By how much the times of host `first` are ahead of those of `second`, by what collectives allow.
struct ClockBounds {
    std::int64_t leastNs, mostNs;
};

/// Collectives prove that times of `first` are ahead of those of `second` by at least so much.
struct ClockProof {
    std::int32_t first = 0, second = 0;
    Duration ahead;
    TimeRange window;
};

class HostClocks {
public:
    static constexpr std::int64_t kWindowNs = 10'000'000'000;

    /// Of a run on one host, or none: nothing is ever in doubt.
    HostClocks() = default;
    HostClocks(const RecordingSummary& summary, const std::vector<RankEvents>& ranks);

    [[nodiscard]] const std::vector<HostClock>& hosts() const { return m_hosts; }
    /// Several hosts whose clocks were compared; of imported traces they were not compared.
    [[nodiscard]] bool several() const { return m_compared && m_hosts.size() > 1; }
    [[nodiscard]] std::int32_t hostOf(RankId rank) const;

    /// By how much a time of one rank and one of another may seem apart without being; absent where
    /// the clocks contradict what happened. Zero for ranks of one host.
    [[nodiscard]] std::optional<Duration> doubt(RankId a, RankId b, Timestamp time) const;
    /// Whether the last to arrive was the last: by more than clocks are in doubt. `members` as
    /// groupMembers() gives them.
    [[nodiscard]] bool tellsLast(const CollectiveEvent& collective,
                                 const std::vector<RankId>& members) const;
    /// What collectives alone say of two hosts around `time`.
    [[nodiscard]] std::optional<ClockBounds> provenBetween(std::int32_t first, std::int32_t second,
                                                           Timestamp time) const;
    /// For each pair of hosts that collectives prove to be apart, where they are so most.
    [[nodiscard]] std::vector<ClockProof> proofs() const;
    /// Windows in which collectives contradict what was measured of the hosts' clocks.
    [[nodiscard]] std::int64_t contradictions() const;

private:
    struct Stated {
        Timestamp time;
        std::int64_t boundNs;
    };
    using Pair = std::pair<std::int32_t, std::int32_t>;  ///< the lower host first
    using Windows = std::map<std::int64_t, ClockBounds>;

    void takeComparisons(const RecordingSummary& summary);
    void sumUp(const RecordingSummary& summary);
    [[nodiscard]] Duration tightened(std::int32_t host, const ClockFacts& clock) const;
    void takeCollectives(const std::vector<RankEvents>& ranks);
    void note(std::int32_t early, Timestamp end, std::int32_t late, Timestamp arrival);
    [[nodiscard]] std::int64_t statedWithin(std::int32_t host, TimeRange range) const;
    [[nodiscard]] std::int64_t statedOf(std::int32_t a, std::int32_t b, TimeRange range) const;
    [[nodiscard]] std::optional<Duration> between(std::int32_t a, std::int32_t b,
                                                  Timestamp time) const;

    std::vector<HostClock> m_hosts;
    bool m_compared = false;  ///< a clock was, at the start at least
    std::unordered_map<RankId, std::int32_t> m_hostOf;
    std::map<std::int32_t, std::vector<Stated>> m_stated;  ///< by time
    std::map<Pair, Windows> m_proven;
};

// What collectives tell of hosts' clocks (host_clocks.h), of ranks that are added one at a time: of
// each collective on each host when it was left first and entered last. Internal to
// profiler/analysis.

class HostPassages {
public:
    explicit HostPassages(const RecordingSummary& summary) : m_hosts(summary, {}) {}
    void add(const RankEvents& events);
    /// Of a run on several hosts whose clocks were compared.
    [[nodiscard]] bool several() const { return m_hosts.several(); }
    /// HostClocks of all ranks that were added.
    [[nodiscard]] HostClocks clocks(const RecordingSummary& summary) const;

private:
    using Key = std::tuple<std::uint32_t, std::uint64_t, CollectiveOp>;  ///< group, sequence
    struct Host {
        RankId rank;                        ///< one of its ranks
        std::map<Key, TimeRange> passages;  ///< last arrival, first end
    };
    const HostClocks m_hosts;
    std::map<std::int32_t, Host> m_passages;
};

}  // namespace shardscope::analysis
