// How training speeds up with ranks: several recordings of one model, each with another number.
//
// Throughput of n ranks: tokens of the median steady step / its time (throughput.cpp).
// Speedup: throughput(n) / throughput of the recordings with the fewest ranks.
// Efficiency: throughput(n) / (n x throughput(1)), with one rank measured by a recording of its own
// and never assumed; none without one. Above 1 is possible: a smaller part fits a cache.
// Strong scaling: the tokens of a step are the same with every number of ranks; weak: those of a
// step and rank.
// Serial fraction of strong scaling: (1 / S - 1 / n) / (1 - 1 / n), S = throughput(n) /
// throughput(1) (Karp & Flatt, Communications of the ACM 33(5), 1990). A fraction that grows with n
// is overhead and not serial work; below 0 it is faster than n times.
#pragma once

#include "storage/model/recording.h"
#include "storage/model/words.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::analysis {

/// One recording.
struct ScalingRun {
    std::int32_t ranks = 0;
    std::int64_t tokensPerStep = 0;  ///< of all ranks: the global batch; 0: not known
    double stepSeconds = 0;          ///< of the median step
    double tokensPerSecond = 0;      ///< of all ranks
    std::vector<double> samples;     ///< tokens/s of each steady step, by step
    std::string missing;             ///< why nothing of it is known; empty: it is
};
[[nodiscard]] ScalingRun scalingRun(const RecordingSummary& summary,
                                    const std::vector<RankEvents>& ranks);

enum class ScalingKind : std::uint8_t { kUnknown, kStrong, kWeak };
constexpr auto wordsOf(ScalingKind) {
    return wordList<Word<ScalingKind>>({{ScalingKind::kUnknown, "unknown"},
                                        {ScalingKind::kStrong, "strong"},
                                        {ScalingKind::kWeak, "weak"}});
}

struct ScalingPoint {
    std::size_t run = 0;            ///< place among the runs
    std::optional<double> speedup;  ///< absent where the run is not known
    std::optional<double> efficiency;
    std::optional<double> low, high;  ///< interval of the efficiency (difference.h)
    std::optional<double> serialFraction;
};

struct Scaling {
    ScalingKind kind = ScalingKind::kUnknown;
    std::string kindMissing;           ///< why it is unknown: no capital, no stop
    std::string efficiencyMissing;     ///< likewise; empty: it is known
    std::int32_t fewest = 0;           ///< ranks that speedups refer to; 0: none
    std::vector<ScalingPoint> points;  ///< by number of ranks, equal ones as they were given
};
[[nodiscard]] Scaling scalingOf(const std::vector<ScalingRun>& runs);

}  // namespace shardscope::analysis
