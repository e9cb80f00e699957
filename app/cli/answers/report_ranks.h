// The report's parts that have rows per rank: step ledger, memory, devices and what HTA counts. Of
// so many ranks that they would not fit a screen they are brief: the spread, and the worst few.
#pragma once

#include "profiler/analysis/report/report.h"
#include "profiler/questions/answer/answer.h"

#include <cstddef>

namespace shardscope::cli {

/// Up to so many ranks each has its own rows.
inline constexpr std::size_t kFewRanks = 8;
/// Of more, so many are named.
inline constexpr std::size_t kWorstRanks = 3;

/// Sums over all recorded steps of each rank; brief: the spread of each part, and the ranks that
/// were blocked or waited longest.
[[nodiscard]] questions::Answer ledgerAnswer(const analysis::Report& report, bool brief);
/// At each rank's peak, against theory.
[[nodiscard]] questions::Answer memoryAnswer(const analysis::Report& report, bool brief);
/// Nothing without devices.
[[nodiscard]] questions::Answer devicesAnswer(const analysis::Report& report, bool brief);
/// What HTA says of the exported traces by itself; nothing where it says nothing.
[[nodiscard]] questions::Answer htaAnswer(const analysis::Report& report, bool brief);

}  // namespace shardscope::cli
