// What is known of ranks beside their rows and events, for reasons to be late (late_rank.h). Plain
// values; who reads a recording fills them in (profiler/questions/read_surroundings.h).
#pragma once

#include "storage/model/recording.h"

#include <map>

namespace shardscope::analysis {

/// Without ranks of which it was not recorded.
struct Surroundings {
    std::map<RankId, double> deviceClocks;  ///< typical of the run, in any unit
    /// By step: within it, in calls that take memory from the device's driver or give it back.
    std::map<RankId, std::map<StepIndex, Duration>> driverMemory;
};

}  // namespace shardscope::analysis
