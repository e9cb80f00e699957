// How well a run used its devices and its time.
//
// MFU = tokens/s x FLOPs a token / peak FLOP/s of all ranks, by every way to count FLOPs that
// engine/run/theory knows. Goodput = time of steps that trained / wall time of all ranks (ML
// Productivity Goodput, arXiv 2502.06982, of one run without restarts); what is not goodput is
// itemised, and adds up with it to the wall time exactly.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/run/theory/model_theory.h"
#include "profiler/analysis/report/report.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::analysis {

struct UtilisationBy {
    theory::FlopsVariant variant{};
    double flopsPerToken = 0;
    double flopsPerSecond = 0;          ///< of all ranks
    std::optional<double> utilisation;  ///< of the peak; absent without one
};
/// By every variant.
[[nodiscard]] std::vector<UtilisationBy> utilisationBy(const run::ModelConfig& model,
                                                       double tokensPerSecond,
                                                       std::optional<double> peakFlops);

/// FLOP/s really executed, recomputed blocks and attention's second scores included, over the peak.
[[nodiscard]] double hardwareUtilisation(const run::RunConfig& config, double tokensPerSecond,
                                         double peakFlops);

struct Goodput {
    struct Item {
        const char* key;   ///< "evaluation"
        const char* what;  ///< a sentence
        Duration time;
    };
    Duration wall;             ///< of all ranks together, from the recording's begin to its end
    Duration productive;       ///< in steps, without the items below
    std::vector<Item> badput;  ///< those that took time; the rest of wall
    [[nodiscard]] std::optional<double> ratio() const {
        if (wall.ns <= 0) return std::nullopt;
        return static_cast<double>(productive.ns) / static_cast<double>(wall.ns);
    }
};
/// Of ranks that are added one at a time, those that have phases: a trace of some steps does not
/// know the rest of the run.
class GoodputTally {
public:
    /// Refers to `summary`.
    explicit GoodputTally(const RecordingSummary& summary);
    void add(const RankEvents& events);
    /// Nothing where no rank has phases.
    [[nodiscard]] std::optional<Goodput> goodput() const;

private:
    const RecordingSummary& m_summary;
    Goodput m_sum;
    std::vector<Goodput::Item> m_items;
};
/// Of all ranks at once.
[[nodiscard]] std::optional<Goodput> goodputOf(const RecordingSummary& summary,
                                               const std::vector<RankEvents>& ranks);

/// Matrix products of a part of the model on one rank, over the steps that have phases.
struct PartSpeed {
    Phase phase = Phase::kNone;
    LayerIndex layer = kNoLayer;  ///< kNoLayer: of all blocks, or no block
    RankId rank;
    std::int64_t steps = 0;
    Duration time;     ///< of these phases together
    double flops = 0;  ///< in them, attention counted to the key
    [[nodiscard]] std::optional<double> flopsPerSecond() const {
        if (time.ns <= 0) return std::nullopt;
        return flops / time.seconds();
    }
};
/// Forward, recompute, head and backward, then forward and backward by block. The head's phase
/// holds its forward and its backward.
[[nodiscard]] std::vector<PartSpeed> partSpeeds(const RecordingSummary& summary,
                                                const run::ModelConfig& model,
                                                const RankEvents& events);

/// The same part of the model on all ranks that have it.
struct PartOfRanks {
    Phase phase = Phase::kNone;
    LayerIndex layer = kNoLayer;  ///< as in PartSpeed
    std::int64_t ranks = 0;
    Duration time;     ///< of these ranks together
    double flops = 0;  ///< likewise
    /// Mean speed of a rank: both are of as many ranks.
    [[nodiscard]] std::optional<double> flopsPerSecond() const {
        if (time.ns <= 0) return std::nullopt;
        return flops / time.seconds();
    }
    std::optional<double> slowest, fastest;  ///< FLOP/s of a rank
};
/// In the order of partSpeeds().
[[nodiscard]] std::vector<PartOfRanks> overRanks(const std::vector<PartSpeed>& parts);

// Energy that training took, where devices' counters of energy were sampled.
//
// Joules a step: what all devices drew from the begin to the end of a step, mean over the steps
// with a sample before and behind. Joules a token: the same / tokens of all ranks in a step. A
// device that ranks share counts once, as its counter is of the whole of it; hosts' CPUs, fans and
// switches do not count.

struct RunEnergy {
    std::optional<double> joulesPerStep, joulesPerToken;  ///< of all devices
    std::string missing;  ///< why they are absent: no capital, no stop
};
/// `devices`: of all ranks that have one.
[[nodiscard]] RunEnergy runEnergy(const std::vector<DeviceUse>& devices, std::size_t ranks);

}  // namespace shardscope::analysis
