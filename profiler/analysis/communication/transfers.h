// Collectives as one event over all their ranks: who came last, for how long data moved, how fast
// that was, and what a link of constant latency and bandwidth would have taken.
//
// algorithm bandwidth = size / transfer; bus bandwidth = algorithm bandwidth x a factor, so that it
// compares with the link's own: 2 (n - 1) / n for all-reduce, (n - 1) / n for all-gather,
// reduce-scatter and all-to-all, 1 for broadcast and messages (nccl-tests doc/PERFORMANCE.md).
// Bytes a second; sizes are whole payloads, gathered or before reduction.
#pragma once

#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/analysis/intervals.h"
#include "storage/model/recording.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::analysis {

/// One collective of the ranks that recorded it.
struct Transfer {
    CollectiveOp operation = CollectiveOp::kBarrier;
    std::uint32_t group = 0;
    std::uint64_t sequence = 0;
    StepIndex step = kNoStep;
    LayerIndex layer = kNoLayer;
    Cause cause = Cause::kNone;
    Bytes size = kUnknownSize;
    std::int32_t ranks = 0;  ///< that took part; 0: not known
    TimeRange range;         ///< from the first start to the last end
    /// First arrival to last; absent where arrivals are not known, or not to be compared.
    std::optional<Duration> skew;
    std::optional<RankId> late;  ///< the last to arrive
    Duration waited;             ///< by all ranks together before the last arrived
    /// For how long data moved: the shortest over the ranks from the last arrival to the end; where
    /// arrivals are not known and all ranks are recorded, the shortest of their durations. Absent
    /// otherwise: waiting and transfer cannot be separated.
    std::optional<Duration> transfer;

    /// How long it took for a rank that needs all of it: from the last arrival to the last end of
    /// any rank. What alpha and beta are of, here, in `bench comm` and in `calibrate`; `transfer`
    /// is the shortest, which of a broadcast is the root's. Where arrivals cannot be compared, that
    /// one; absent where it is not known.
    [[nodiscard]] std::optional<Duration> completion() const;
    [[nodiscard]] std::optional<double> algorithmBandwidth() const;
    [[nodiscard]] std::optional<double> busBandwidth() const;
};

/// Bus bandwidth over algorithm bandwidth among `ranks`; nothing for what moves no data.
[[nodiscard]] std::optional<double> busFactor(CollectiveOp operation, std::int32_t ranks);

/// Makes them of ranks that are added one at a time, by rank.
class TransferTally {
public:
    void add(const RankEvents& events);
    /// By first start. Clocks say which arrivals can be compared.
    [[nodiscard]] std::vector<Transfer> transfers(const HostClocks& clocks) const;

private:
    /// What ranks saw of a collective.
    struct Seen {
        Transfer transfer;  ///< as the first saw it, its range over all
        std::size_t ranks = 0;
        Duration lasted;                            ///< over all
        Duration leastFromStart, leastFromArrival;  ///< to the end
        Arrivals arrivals;                          ///< of the rank that knows of most members
        Timestamp met;                              ///< by that rank
        [[nodiscard]] auto key() const { return std::pair(transfer.group, transfer.sequence); }
    };
    void addFresh(std::vector<const CollectiveEvent*> fresh);
    static void see(Seen& seen, const CollectiveEvent& event);
    [[nodiscard]] static Transfer transferOf(const Seen& seen, const Groups& groups,
                                             const HostClocks& clocks);

    std::vector<RankEvents> m_groups;  ///< of each rank, one collective of each of its groups
    std::vector<Seen> m_seen;          ///< by key: a long run has millions
};

/// By first start. `ranks` by rank; clocks say which arrivals can be compared.
[[nodiscard]] std::vector<Transfer> transfersOf(const std::vector<RankEvents>& ranks,
                                                const HostClocks& clocks);

/// completion = latency + size x perByte.
struct AlphaBeta {
    double latencyNs = 0;    ///< alpha
    double nsPerByte = 0;    ///< beta
    std::int64_t sizes = 0;  ///< that it was fitted to
    Bytes least{}, most{};   ///< of these
    [[nodiscard]] double at(Bytes size) const {
        return latencyNs + nsPerByte * static_cast<double>(size.count);
    }
    /// Absent where time does not grow with size.
    [[nodiscard]] std::optional<double> bytesPerSecond() const {
        if (nsPerByte <= 0) return std::nullopt;
        return 1e9 / nsPerByte;
    }
};

struct SizedTime {
    Bytes size;
    Duration time;
};
/// Fitted to the lower envelope, the shortest time of each size, by least squares of relative
/// errors with neither term below zero. Nothing unless there are two sizes, one at least twice the
/// other.
[[nodiscard]] std::optional<AlphaBeta> fitAlphaBeta(const std::vector<SizedTime>& times);

/// Collectives of one operation in one group.
struct TransferClass {
    CollectiveOp operation = CollectiveOp::kBarrier;
    std::uint32_t group = 0;
    std::int32_t ranks = 0;
    std::int64_t count = 0;
    Bytes bytes;             ///< of all whose size is known
    Duration waited;         ///< by all ranks together
    Duration moved;          ///< sum of known transfers
    std::int64_t timed = 0;  ///< those whose transfer is known
    std::optional<Duration> medianSkew;
    /// Bytes over transfer time, of those of which both are known.
    std::optional<double> algorithmBandwidth, busBandwidth;
    std::optional<double> bestBusBandwidth;  ///< of a single one
    std::optional<AlphaBeta> fit;            ///< of their completions
    std::int64_t outliers = 0;
};

/// Taken for an outlier from here on: of the median transfer of its operation, group and size, of
/// which there must be three.
inline constexpr double kTransferOutlier = 1.5;
inline constexpr std::size_t kLeastAlike = 3;

/// Of each transfer over the median of its like; absent where that is not known or too few are.
[[nodiscard]] std::vector<std::optional<double>> overTypical(
    const std::vector<Transfer>& transfers);

/// Most time first. Only those that move data.
[[nodiscard]] std::vector<TransferClass> classesOf(const std::vector<Transfer>& transfers);

}  // namespace shardscope::analysis
