// What a rank computes in a step and how long that takes, taken from a recording and carried over
// to another configuration. Pure functions.
//
// Each time is the mean over the middle half of the steady steps, by how long they took, and over
// ranks: parts of the same steps add up to them, which medians of each part do not. Beside
// computing a step waits for the slowest of its ranks, which all compute alike and never equally
// long; that is a share of computing too, which grows with ranks as the expected largest of so many
// normal values does (Tippett, Biometrika 17, 1925). Carried over, blocks and head take longer by
// their matrix products (model_theory.h, causal attention), embedding and batch by tokens, clip and
// optimizer by the elements a rank works on. What is the same model with the same batch is
// therefore as recorded; anything else is estimated. Ranks that have fewer cores than threads share
// them evenly.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/run/theory/communicator_theory.h"
#include "profiler/analysis/communication/transfers.h"
#include "profiler/planning/step_schedule.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/model/run_facts.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::planning {

/// Why there is no forecast of a run with --tensor.
inline constexpr const char* kSharedLayersUnknown =
    "how long a step takes whose layers are shared by ranks (--tensor) is not forecast yet";

struct ComputeTimes {
    run::RunConfig config;  ///< of the recording, without its hosts
    // A micro-step's.
    Duration data;
    Duration embed, embedBackward;       ///< all pieces of the token table
    Duration block, blockBackward;       ///< one
    Duration recompute;                  ///< one; as `block` where none was recorded
    Duration head;                       ///< all pieces
    double clipNs = 0, optimizerNs = 0;  ///< an element
    // A step's.
    Duration rest;        ///< the step's thread between its phases
    Duration wake;        ///< from the end of a collective until its waiter goes on
    double lateness = 0;  ///< waiting for the slowest of the recorded ranks, over computing
    /// Of forecasts by a data sheet: the least and most that computing may take, over it.
    double low = 1, high = 1;
    /// Of forecasts by a recording: of runs of the same settings, the deviation of their medians,
    /// of which the recording's own stretches are a sample.
    double spread = 0;
    std::optional<Duration> recorded;  ///< its median step
    /// That step as the model plays it over the recorded link; absent: unknown.
    std::optional<Duration> replayed;
    std::int32_t ranksOnHost = 1;  ///< most of any host
    std::int32_t cores = 0;        ///< of that host; 0: not known, or a device computes
    std::int32_t steps = 0;        ///< that it is of
    double withoutCore = 0;        ///< of their time, over ranks
};

/// Of runs of the same settings the deviation of their median steps, over the median: by how far
/// the medians of stretches of one run lie apart. At least what runs on such a machine differ by
/// from one minute to the next, which stretches of a run of seconds do not show (`facts` of the
/// run); that of a run too short for stretches.
[[nodiscard]] double spreadOfRuns(const std::vector<double>& stepSeconds,
                                  const std::vector<FactRow>& facts);

/// kUsage where the recording was not made by this engine, or has no steady step to learn from.
[[nodiscard]] Result<ComputeTimes> computeTimesOf(const RecordingSummary& summary,
                                                  const std::vector<RankEvents>& ranks);

/// By how much longer a rank computes where ranks have fewer cores than threads: threads over
/// cores, at least 1. `cores` 0: 1.
[[nodiscard]] double crowding(std::int32_t ranksOnHost, std::int32_t threads, std::int32_t cores);

/// Times of the tasks of another configuration, which outlives it.
class CarriedTimes {
public:
    /// `ranksOnHost`: of the other configuration, on hosts like the recorded one.
    CarriedTimes(const ComputeTimes& times, const run::RunConfig& config, std::int32_t ranksOnHost);
    [[nodiscard]] Duration of(const StepTask& task) const;
    [[nodiscard]] Duration rest() const;

private:
    const ComputeTimes& m_times;
    double m_crowding = 1;                           ///< of it over that of the recording
    double m_tokens = 1, m_blocks = 1, m_heads = 1;  ///< work over recorded work
    double m_embedding = 1;
    double m_tokenPieces = 1, m_headPieces = 1;  ///< tasks that share a time
};

/// What a rank's computing takes where nothing of it was recorded: by the rates of its device. Pure
/// functions; everything is estimated.
struct ComputeRate {
    double flops = 0;           ///< FLOP/s of matrix products at the run's precision, at most
    double bytesPerSecond = 0;  ///< of memory
    std::string source;         ///< of both: a phrase
};

/// Of the peak, what a training step's matrix products reach with all that lies between them.
struct Utilisation {
    double expected = 0.45;
    double low = 0.35, high = 0.55;
};
/// This engine on an H200: 0.41 in small and 0.51 in large micro-steps (docs/gpu.md).
inline constexpr Utilisation kUsualUtilisation{};

/// Blocks and head: their matrix products (model_theory.h, causal attention), backward twice the
/// forward, at utilisation x peak. Embedding, clip and optimizer: the bytes that they read and
/// write, 28 of an element of fp32 state. `low` and `high` are of the utilisation.
[[nodiscard]] ComputeTimes timesAt(const run::RunConfig& config, const ComputeRate& rate,
                                   const Utilisation& utilisation = kUsualUtilisation);

/// How long collectives take on a link, for any number of ranks: the formulas of
/// engine/run/theory/communicator_theory.h with a latency and a bandwidth for each operation. Pure.
class LinkTimes {
public:
    /// The same link for every operation. `source`: a phrase, "as given".
    LinkTimes(const theory::LinkModel& link, std::string source);

    /// What was fitted to an operation among so many ranks, turned into latency a hop and
    /// bandwidth.
    void set(CollectiveOp operation, std::int32_t ranks, const analysis::AlphaBeta& fit);

    /// Whether it is known how long this takes: always of a link that was given; of one that was
    /// fitted among as many ranks as it was fitted for, and up to kFitReach of the largest size. An
    /// all-reduce is a reduce-scatter and an all-gather of the same size, so that these say how
    /// long it takes as well.
    [[nodiscard]] bool covers(CollectiveOp operation, std::int32_t ranks, Bytes size) const;
    /// Why it does not: "no all-gather among 4 ranks was measured, only among 2"; empty: it does.
    [[nodiscard]] std::string whyUnknown(CollectiveOp operation, std::int32_t ranks,
                                         Bytes size) const;
    /// S as the engine reports it. An operation that is not known takes what the others say.
    [[nodiscard]] Duration of(CollectiveOp operation, std::int32_t ranks, Bytes size) const;
    [[nodiscard]] const theory::LinkModel& model(CollectiveOp operation) const;
    /// With the range of each fit: "fitted to the recorded collectives, among 2 ranks: all-gather
    /// up to 2.4 MB, all-reduce up to 64 B; unknown beyond".
    [[nodiscard]] std::string source() const;
    /// The same with other latency and bandwidth, by factors.
    [[nodiscard]] LinkTimes scaled(double latency, double bandwidth) const;

private:
    struct Fitted {
        theory::LinkModel link;
        Bytes most;  ///< largest size; 0: not known
    };
    using Key = std::pair<CollectiveOp, std::int32_t>;  ///< ranks
    /// Null: nothing of that size was fitted.
    [[nodiscard]] const theory::LinkModel* known(CollectiveOp operation, std::int32_t ranks,
                                                 Bytes size) const;
    /// The largest size that its fit is used for; absent: there is none, or it has no limit.
    [[nodiscard]] std::optional<Bytes> reachOf(CollectiveOp operation, std::int32_t ranks) const;
    theory::LinkModel m_link;  ///< of what is not in m_known
    std::map<Key, Fitted> m_known;
    std::string m_source;
};
/// Of the largest size: smaller ones take no longer than what was fitted.
inline constexpr double kFitReach = 2;

/// The link that the options of modelled links describe, which to a plan is a real one, taken out
/// of `config`; absent where they describe none.
[[nodiscard]] std::optional<LinkTimes> takeGivenLink(run::RunConfig& config);

/// The link that a run models; absent where it models none.
[[nodiscard]] std::optional<LinkTimes> modelledLinkOf(const run::RunConfig& config);

/// The link of a recording: the one it modelled, or what fits the collectives over all of its ranks
/// (analysis::classesOf). Absent where neither is known: one rank, or one size only.
[[nodiscard]] std::optional<LinkTimes> linkOf(const RecordingSummary& summary,
                                              const std::vector<RankEvents>& ranks);

}  // namespace shardscope::planning
