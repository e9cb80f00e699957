// The ranks of a run that is going, a row each: state, step, speed, memory, phase. Pure.
#pragma once

#include "app/desktop/models/table_model.h"
#include "app/desktop/pages/live/live_run.h"

#include <QString>
#include <cstdint>
#include <map>
#include <vector>

namespace shardscope::desktop {

/// A rank that says nothing for longer than this is said to be silent.
inline constexpr std::int64_t kSilentMs = 5'000;

struct RankTable {
    std::vector<TableColumn> columns;
    TableRows rows;
};

/// `nowMs` as of LiveRun::setFigures(). `narrow`: resident set and process id on hover only.
[[nodiscard]] RankTable rankTable(const std::map<int, LiveRank>& ranks, std::int64_t nowMs,
                                  bool narrow);
/// The same of a program: what is known of its processes.
[[nodiscard]] RankTable programRankTable(const std::map<int, LiveRank>& ranks, bool narrow);

/// "waits for gather, block 3, for 12.0 s"; "–" and why where it is not known.
[[nodiscard]] TableCell phaseCell(const LiveRank& rank, std::int64_t nowMs);

}  // namespace shardscope::desktop
