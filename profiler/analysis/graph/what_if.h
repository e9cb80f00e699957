// How long a step would have taken with other durations: its graph played again.
//
// Each activity begins when all it depends on has ended, plus the delay that was recorded; it lasts
// as long as it did, or as long as the scenario says. A longest path through the whole graph, not
// the recorded critical path less something: what was hidden until now may come to bound the step.
// Without a change the result is the recorded time to the nanosecond, and what makes activities
// shorter never makes the step longer.
#pragma once

#include "profiler/analysis/graph/step_graph.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::analysis {

enum class Change : std::uint8_t {
    kNone,
    kGathersHidden,
    kLinkTwice,
    kRankAtMedian,
    kFaster,
    kGiven
};
struct ChangeWords {
    Change value;
    const char* word;
    const char* definition;
};
constexpr auto wordsOf(Change) {
    return wordList<ChangeWords>(
        {{Change::kNone, "nothing", "As recorded."},
         {Change::kGathersHidden, "gathers hidden",
          "Nothing waits for a gather; they still keep the link busy."},
         {Change::kLinkTwice, "link twice as fast",
          "The moving of collectives takes half its time; the latency of the fit stays."},
         {Change::kRankAtMedian, "rank at the median",
          "Compute of one rank takes no longer than the median over ranks of the same name and "
          "layer in that step."},
         {Change::kFaster, "20 % faster", "Activities of one name take 80 % of their time."},
         {Change::kGiven, "as given",
          "What was given is so many times as fast: the compute of a rank, activities of a name, "
          "or "
          "the moving of collectives, of which the latency of the fit stays."}});
}

enum class Hastened : std::uint8_t { kLink, kRank, kName };
/// Something that is so many times as fast; below 1 it is slower.
struct Speed {
    Hastened what = Hastened::kLink;
    RankId rank{};           ///< of kRank
    std::uint32_t name = 0;  ///< of kName
    double times = 1;
};

struct Scenario {
    Change change = Change::kNone;
    RankId rank;                     ///< of kRankAtMedian
    std::uint32_t name = 0;          ///< of kFaster
    std::vector<Speed> speeds = {};  ///< of kGiven; those of one activity multiply
};

/// What the answers rest on, to be shown with them.
inline constexpr const char* kWhatIfModel =
    "What-if: each step is played again on its graph of dependencies. The step's thread does one "
    "thing after the other; a collective begins on a rank when it was asked for and the one before "
    "it in its group is done, moves data from the last arrival on, and ends the waits for it; a "
    "phase needs the gather of its layer, the update the reductions. A kernel begins after its "
    "launch and the kernel before it on its stream; one that began within 20 us of the end of "
    "another stream's kernel, later than both, is taken to have waited for that. What else lay "
    "between (latencies, gaps, a rank's late start) is kept as it was recorded. Clocks of devices, "
    "caches and the sharing of links do not change with the load.";

/// Wall time of a sealed graph's step, from its first beginning to the last end.
[[nodiscard]] Duration replay(const StepGraph& graph, const Scenario& scenario);

/// Compute of each rank by name and layer.
using ComputeByName = std::map<std::pair<std::uint32_t, LayerIndex>, std::map<RankId, Duration>>;
[[nodiscard]] ComputeByName computeByName(const StepGraph& graph);

/// Slower than the median over ranks by more than 1 % of it, the slowest first.
inline constexpr double kSlowRank = 0.01;
[[nodiscard]] std::vector<RankId> slowRanks(const std::map<RankId, Duration>& compute);

}  // namespace shardscope::analysis
