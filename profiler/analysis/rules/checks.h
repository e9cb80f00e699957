// What was looked at to say whether a recording can be trusted, and what came of it: all of it, so
// that "nothing is wrong" is kept apart from "unknown". Pure.
#pragma once

#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/analysis/compare/observer_effect.h"
#include "profiler/analysis/report/report.h"
#include "storage/model/recording.h"
#include "storage/model/words.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::analysis {

enum class CheckState : std::uint8_t { kFine, kProblem, kUnknown };
constexpr auto wordsOf(CheckState) {
    return wordList<Word<CheckState>>({{CheckState::kFine, "fine"},
                                       {CheckState::kProblem, "problem"},
                                       {CheckState::kUnknown, "unknown"}});
}

struct Check {
    const char* key;  ///< "certificate"
    const char* what;
    CheckState state = CheckState::kUnknown;
    std::string found;  ///< what was counted, or why it is unknown; no capital, no full stop
};

/// Of a whole recording. A problem here is one among its notices (notices.h) too. What was left out
/// on purpose, and what recording cost where it was measured, is said and is none.
[[nodiscard]] std::vector<Check> checksOf(const RecordingSummary& summary,
                                          const Completeness& completeness,
                                          const HostClocks& clocks,
                                          const std::vector<ObserverEffect>& effects);

}  // namespace shardscope::analysis
