// Rules that a run must keep against its baseline: "throughput.tokens_per_s >= -2%",
// "memory.peak_bytes <= +1%", "memory.peak_bytes <= 3e9".
//
// With a percent sign the bound is of the change from the baseline, and broken by a change that is
// beyond it and told from noise (difference.h); without one it is of the run's own median.
#pragma once

#include "profiler/analysis/run_figures.h"
#include "storage/model/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope::analysis {

struct GateRule {
    std::string key;
    bool atLeast = false;   ///< else at most
    bool relative = false;  ///< bound is a share of the baseline
    double bound = 0;
    std::string text;  ///< as it was written
};
/// kUsage: it is no rule, and what one looks like.
Result<GateRule> parseGateRule(std::string_view text);

enum class GateState : std::uint8_t { kKept, kBroken, kCannotTell };
constexpr auto wordsOf(GateState) {
    return wordList<Word<GateState>>({{GateState::kKept, "kept"},
                                      {GateState::kBroken, "broken"},
                                      {GateState::kCannotTell, "cannot tell"}});
}
struct GateResult {
    GateRule rule;
    GateState state = GateState::kCannotTell;
    Difference difference;
};
/// kUsage: a rule names a figure that neither run has; the sentence names those that there are.
Result<std::vector<GateResult>> checkGate(const std::vector<GateRule>& rules,
                                          const std::vector<RunFigure>& baseline,
                                          const std::vector<RunFigure>& run);

}  // namespace shardscope::analysis
