// What about a run is worth somebody's time: a rank that others wait for, a slow step, memory above
// theory. Pure; for report, window and scripts alike.
//
// A finding is what a healthy run does not have: each rule asks for size and for regularity, since
// of two equal ranks one is always the later. Thresholds are those of the constants below.
#pragma once

#include "profiler/analysis/report.h"

#include <vector>

namespace shardscope::analysis {

/// A slow step takes this many times the median, and lies as many spreads (1.4826 x the median
/// absolute deviation) above it: on a restless machine each step differs.
inline constexpr double kSlowStep = 2;
inline constexpr double kSlowStepSpreads = 8;
/// Of fewer steps the spread says little: 9 steps of a healthy run gave an alarm in 1 run of 16.
inline constexpr std::size_t kLeastStepsForSpread = 12;
/// Above theory: a note, and a warning.
inline constexpr const char* kMemoryAboveTheory = "memory-above-theory";
inline constexpr double kMemoryNote = 0.05, kMemoryWarning = 0.10;

/// Most severe first. `report` with its ledger, memory and warm-up filled in; `ranks` by rank.
[[nodiscard]] std::vector<RunFinding> runFindings(const RecordingSummary& summary,
                                                  const std::vector<RankEvents>& ranks,
                                                  const Report& report);

}  // namespace shardscope::analysis
