// What recording itself cost a run, as far as the run can tell: its steps were recorded at
// different levels, by a schedule or on request, and some were slower than others.
//
// Cost of a level: median time of the steady steps recorded at it / that of those at the lowest
// level there is - 1, with its interval by a block bootstrap (difference.h). Steps whose detail was
// taken out of the file later, or not kept, were recorded all the same and count as such. Not seen
// is what recording cost every step alike.
#pragma once

#include "profiler/analysis/compare/difference.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::analysis {

struct ObserverEffect {
    CaptureLevel level{};    ///< kFull: the run's own level, whatever that is
    CaptureLevel against{};  ///< the lowest there is
    std::int64_t steps = 0, againstSteps = 0;
    Difference difference;  ///< of step times in ns: first is `against`, second `level`
};

/// Lowest level first. None: every steady step was recorded at the same level by all ranks.
[[nodiscard]] std::vector<ObserverEffect> observerEffects(const RecordingSummary& summary,
                                                          const std::vector<RankEvents>& ranks);

/// Why there are none, and how the next recording has some.
[[nodiscard]] std::string sameLevelText(const RunFacts& run);

}  // namespace shardscope::analysis
