// How fast a run will be, before there is one: its schedule (step_schedule.h), played with what a
// recording says of its computing and of a link (compute_times.h). Pure functions.
#pragma once

#include "profiler/planning/compute_times.h"
#include "profiler/planning/step_schedule.h"
#include "storage/model/result.h"
#include "storage/model/words.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::planning {

struct ForecastInput {
    const ComputeTimes& times;
    const LinkTimes* link = nullptr;  ///< null: of one rank, there is none
    std::int32_t ranksOnHost = 1;     ///< of hosts like the recorded one
};

struct Forecast {
    PlayedStep step;
    /// By a recording: four in five runs of these settings have their median step within, by how
    /// far the played step is off the recorded one, how far runs lie apart, and how far the
    /// settings are from the recorded ones (kTransferError). By a data sheet: with the least and
    /// most of the peak that training reaches.
    Duration low, high;
    /// Why the step's time is not known: a transfer that the link's fit does not cover; a phrase.
    std::string unknown;
    double tokensPerSecond = 0;  ///< of all ranks
    /// Of the step's time, communication that nothing hides.
    [[nodiscard]] double waitingShare() const {
        return step.time.ns > 0 ? step.waiting.seconds() / step.time.seconds() : 0;
    }
    /// The link is busier than the rank: more tokens a rank would hide more.
    [[nodiscard]] bool communicationBound() const { return step.moving > step.computing; }
};

/// Deviation of a forecast, for a step that takes e times as long as the recorded one; and for
/// another number of ranks on a host, which share its caches and memory.
inline constexpr double kTransferError = 0.05, kCrowdingError = 0.1;

/// What four in five runs keep to, when medians of runs are normal: 1.28 deviations to each side.
struct Band {
    Duration low, high;
};
/// Of an estimated step, from the recorded one as the model plays it, both above zero. `spread`:
/// spreadOfRuns(), of which the recorded run and the one to come each have their own. `error`: of
/// the played step over the recorded one, less 1. `more`: another deviation.
[[nodiscard]] Band bandOf(Duration estimated, Duration played, double spread, double error,
                          double more = 0);

/// `config` is valid.
[[nodiscard]] Forecast forecast(const run::RunConfig& config, const ForecastInput& input);

/// Tokens of a rank and step from which on computing takes as long as moving: below it the run is
/// bound by communication. Computing grows by a line in tokens, moving does not. Absent where
/// nothing moves or where a single sequence is enough.
[[nodiscard]] std::optional<double> tippingTokens(const run::RunConfig& config,
                                                  const ForecastInput& input);

enum class Scaled : std::uint8_t {
    kWeak,    ///< a rank keeps its batch
    kStrong,  ///< all ranks together keep theirs
};

struct ProjectionRow {
    std::int32_t ranks = 1;
    Forecast forecast;
    double efficiency = 0;  ///< tokens/s over ranks times those of one rank
};

/// One rank and then powers of two up to `most`, those of which `forecastOf` knows something.
/// Strong: as long as ranks divide the batch of all, `config`'s own.
[[nodiscard]] std::vector<ProjectionRow> project(
    const run::RunConfig& config, Scaled scaled, std::int32_t most,
    const std::function<Result<Forecast>(const run::RunConfig&)>& forecastOf);

/// `config` over other ranks: alone it is single, else `several`, and without what does not apply
/// to that.
[[nodiscard]] run::RunConfig overRanks(run::RunConfig config, std::int32_t ranks,
                                       run::Strategy several);

// How long a recorded run's step would take with other settings: each played by its own schedule
// (forecast.h) with what the recording says of computing and link. Pure functions.

enum class Varied : std::uint8_t { kRanks, kLink, kStrategy, kPrefetch, kBatch, kMemory };
struct VariedWords {
    Varied value;
    const char* word;
    const char* definition;
};
constexpr auto wordsOf(Varied) {
    return wordList<VariedWords>(
        {{Varied::kRanks, "ranks",
          "Each keeps its batch; of the cores of a host every rank has its share."},
         {Varied::kLink, "link", "Latency and bandwidth of every collective by factors."},
         {Varied::kStrategy, "strategy", "The same ranks and batch."},
         {Varied::kPrefetch, "prefetch", "Blocks gathered ahead."},
         {Varied::kBatch, "batch", "Sequences per rank and micro-step; micro-steps per step."},
         {Varied::kMemory, "memory", "What is kept, gathered or computed again."}});
}

struct Alternative {
    Varied varied = Varied::kRanks;
    std::string text;  ///< "8 ranks", "zero2"
    run::RunConfig config;
    Forecast forecast;
};

/// Of what has not been forecast.
struct NotForecast {
    Varied varied = Varied::kRanks;
    std::string text, why;
};

struct Alternatives {
    Forecast recorded;  ///< of the run's own settings: against the recorded step, the model's error
    std::vector<Alternative> all;
    std::vector<NotForecast> unknown;
};

/// Only settings that a run may have. `link`: null for one rank, which has no others then.
[[nodiscard]] Alternatives alternativesOf(const ComputeTimes& times, const LinkTimes* link);

}  // namespace shardscope::planning
