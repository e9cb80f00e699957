// The report's parts that have a row or a column per rank, for runs of so many that they would not
// fit a screen: the spread over all ranks, and the worst few by number.
#pragma once

#include "profiler/analysis/report.h"

#include <string>

namespace shardscope::cli {

/// Up to so many ranks each has its own rows and columns.
inline constexpr std::size_t kFewRanks = 8;
/// Of more, so many are named.
inline constexpr std::size_t kWorstRanks = 3;

/// Step ledger: the spread of each part, and the ranks that were blocked or waited longest.
[[nodiscard]] std::string ledgerOfMany(const analysis::Report& report);
/// Memory: the spread of peaks.
[[nodiscard]] std::string memoryOfMany(const analysis::Report& report);

}  // namespace shardscope::cli
