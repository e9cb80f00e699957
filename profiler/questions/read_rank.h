// How questions, reports and pages read a rank's events.
#pragma once

#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

namespace shardscope::questions {

/// What touches `time`; of a recorded program with what its step thread waited for
/// (profiler/analysis/steps/seen_waits.h).
[[nodiscard]] Result<RankEvents> readRank(storage::RecordingReader& reader,
                                          const RecordingSummary& summary, RankId rank,
                                          TimeRange time);

}  // namespace shardscope::questions
