// What two runs are compared by: figures of each steady step, and those of the run as a whole.
#pragma once

#include "profiler/analysis/compare/difference.h"
#include "profiler/analysis/compare/grounds.h"
#include "profiler/analysis/report/report.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::analysis {

struct RunFigure {
    std::string key;        ///< "throughput.tokens_per_s": also what gate rules name
    const char* unit = "";  ///< "ns", "bytes", "tokens/s", ""
    Better better = Better::kLower;
    std::vector<double> samples;  ///< by steady step; empty for figures of a run
    std::optional<double> whole;  ///< of the run, exact
    /// Of step time and throughput: by running time (grounds.h), of the steps of which it is known.
    std::vector<double> running{};
    [[nodiscard]] bool isTime() const;
    [[nodiscard]] bool isMemory() const;
};

/// Step time and throughput of all ranks; communication, what of it was exposed, and the ledger's
/// parts as means over ranks; losses of the last quarter of the steps; memory at its peak, of the
/// rank that needs most. Figures that were not recorded are left out.
[[nodiscard]] std::vector<RunFigure> runFigures(const RecordingSummary& summary,
                                                const std::vector<RankEvents>& ranks,
                                                const Report& report);

/// What people call the figure of a key: "step time", "ledger: waiting for the slowest"; a key that
/// is not known is its own.
[[nodiscard]] std::string figureTitle(std::string_view key);
/// The same where there is little room: "exposed comm."
[[nodiscard]] std::string briefFigureTitle(std::string_view key);

/// By key; null: there is none.
[[nodiscard]] const RunFigure* findFigure(const std::vector<RunFigure>& figures,
                                          std::string_view key);

/// Of two lists all keys, in the first one's order, what only the second has behind.
[[nodiscard]] std::vector<std::string> keysOf(const std::vector<RunFigure>& first,
                                              const std::vector<RunFigure>& second);

[[nodiscard]] Difference differenceOf(const RunFigure& first, const RunFigure& second,
                                      const Grounds& grounds = {});

// Rules that a run must keep against its baseline: "throughput.tokens_per_s >= -2%",
// "memory.peak_bytes <= +1%", "memory.peak_bytes <= 3e9".
//
// With a percent sign the bound is of the change from the baseline, and broken by a change that is
// beyond it and distinct from noise (difference.h); without one it is of the run's own median. Of
// figures on which no verdict can rest (grounds.h) neither is judged.

struct GateRule {
    std::string key;
    bool atLeast = false;   ///< else at most
    bool relative = false;  ///< bound is a share of the baseline
    double bound = 0;
    std::string text;  ///< as it was written
};
/// kUsage: it is no rule, and what one looks like.
Result<GateRule> parseGateRule(std::string_view text);

enum class GateState : std::uint8_t { kKept, kBroken, kUnknown };
constexpr auto wordsOf(GateState) {
    return wordList<Word<GateState>>({{GateState::kKept, "kept"},
                                      {GateState::kBroken, "broken"},
                                      {GateState::kUnknown, "unknown"}});
}
struct GateResult {
    GateRule rule;
    GateState state = GateState::kUnknown;
    Difference difference;
};
/// `alone`: groundsOf() of the run with itself, for bounds of its own values.
/// kUsage: a rule names a figure that neither run has; the sentence names those that there are.
Result<std::vector<GateResult>> checkGate(const std::vector<GateRule>& rules,
                                          const std::vector<RunFigure>& baseline,
                                          const std::vector<RunFigure>& run,
                                          const Grounds& grounds = {}, const Grounds& alone = {});

}  // namespace shardscope::analysis
