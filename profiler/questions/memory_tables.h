// What a peak of memory consists of and what allocators hold beyond it, read and as tables.
// Internal to profiler/questions.
#pragma once

#include "profiler/analysis/memory/memory_steps.h"
#include "profiler/analysis/report/report.h"
#include "profiler/questions/answer/answer.h"
#include "profiler/questions/question.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <vector>

namespace shardscope::questions {

/// Of the rank's peak.
[[nodiscard]] Result<analysis::PeakHolders> readHolders(storage::RecordingReader& reader,
                                                        const analysis::RankMemory& rank);

/// Of programs that are not ours, as their optimizers have them: whole, and the rank's shards.
[[nodiscard]] Table parameterTable(const RecordingSummary& summary);

/// Rows add up to the peak.
[[nodiscard]] Table holderTable(const analysis::PeakHolders& peak);

/// What was alive in each phase and layer, at most.
[[nodiscard]] Table phaseTable(const std::vector<analysis::PhaseMemory>& phases);

/// The peaks of two runs by category and layer, largest difference first; columns add up to them.
[[nodiscard]] Table placeTable(const analysis::PeakHolders& first,
                               const analysis::PeakHolders& second);

/// What allocators hold beyond what is allocated, of the ranks whose reserve was recorded; of the
/// others that it is unknown.
[[nodiscard]] Result<void> addAllocators(const Asked& asked,
                                         const std::vector<analysis::RankMemory>& ranks,
                                         Answer& answer);

}  // namespace shardscope::questions
