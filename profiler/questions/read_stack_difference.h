// Stacks of a recording and of its baseline as one tree, of a step of a rank: what `compare` lists
// by name, by what it ran within.
#pragma once

#include "profiler/analysis/call_tree.h"
#include "profiler/questions/read_stacks.h"
#include "profiler/questions/selection.h"
#include "storage/recording/read/recording_reader.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace shardscope::questions {

struct StackDifference {
    std::vector<StackKind> kinds;   ///< of which either has lanes
    std::optional<StackKind> kind;  ///< nullopt: neither has any
    analysis::CallDifference stacks;
    /// Steps of all ranks together, by which times are divided; 0: it has none, so that its times
    /// are those of all of it.
    std::size_t stepsBefore = 0, stepsAfter = 0;
    std::size_t lanesBefore = 0, lanesAfter = 0;
};

/// From the first step's beginning to the last one's end where nothing else is selected: start-up
/// and end are no part of a step. Without `wanted`, or where neither has it, of the first kind that
/// both have, else of the first. kUsage: the selection leaves nothing of one, and why.
[[nodiscard]] Result<StackDifference> readStackDifference(storage::RecordingReader& before,
                                                          storage::RecordingReader& after,
                                                          const Selection& selection,
                                                          std::optional<StackKind> wanted);

}  // namespace shardscope::questions
