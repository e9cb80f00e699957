// How long a recorded run's step would take with other settings: each played by its own schedule
// (forecast.h) with what the recording says of computing and link. Pure functions.
#pragma once

#include "profiler/planning/forecast.h"
#include "storage/model/words.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope::planning {

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

struct Alternatives {
    Forecast recorded;  ///< of the run's own settings: against the recorded step, the model's error
    std::vector<Alternative> all;
};

/// Only settings that a run may have. `link`: null for one rank, which has no others then.
[[nodiscard]] Alternatives alternativesOf(const ComputeTimes& times, const LinkTimes* link);

}  // namespace shardscope::planning
