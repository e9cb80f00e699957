// Reads the FLOPs of steps out of their operators, and how much of them lies outside of these.
// Internal to profiler/questions.
#pragma once

#include "profiler/analysis/device/program_flops.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

namespace shardscope::questions {

/// Of all ranks of `summary`, of the steps that analysis::stepsToCount() names.
[[nodiscard]] Result<analysis::CountedSteps> readFlops(
    storage::RecordingReader& reader, const RecordingSummary& summary,
    const analysis::SteadySteps& steady, analysis::CountWhich which = analysis::CountWhich::kSome);

}  // namespace shardscope::questions
