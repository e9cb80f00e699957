// Reads one step of some ranks and reports what each instant of it went to.
#pragma once

#include "profiler/analysis/device/device_ledger.h"
#include "storage/model/result.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"

#include <cstddef>
#include <vector>

namespace shardscope::questions {

/// How questions, reports and pages read a rank's events: what touches `time`, and of a recorded
/// program what its step thread waited for (profiler/analysis/steps/seen_waits.h).
[[nodiscard]] Result<RankEvents> readRank(storage::RecordingReader& reader,
                                          const RecordingSummary& summary, RankId rank,
                                          TimeRange time);

struct StepOfRank {
    StepFacts step;
    std::vector<analysis::LedgerPiece> pieces;  ///< none: not recorded what it went to
};

/// `step` of the first `mostRanks` ranks that have it, by rank. `summary`: of the whole recording.
[[nodiscard]] Result<std::vector<StepOfRank>> readStep(storage::RecordingReader& reader,
                                                       const RecordingSummary& summary,
                                                       StepIndex step, std::size_t mostRanks);

}  // namespace shardscope::questions
