// The report for people: what is worth a look, then answers under titles.
#pragma once

#include "profiler/analysis/report/report.h"
#include "profiler/questions/answer/answer.h"

#include <cstddef>
#include <string>

namespace shardscope::cli {

/// `path` names the recording in the title, after the run's name if it has one. Of more than a
/// few ranks only the spread and the worst are shown unless `everyRank`, and of findings the five
/// that come first.
[[nodiscard]] std::string reportText(const analysis::Report& report, const std::string& path,
                                     bool everyRank = false);

// The report's parts that have rows per rank: step ledger, memory, devices and what HTA counts. Of
// so many ranks that they would not fit a screen they are brief: the spread, and the worst few.

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
