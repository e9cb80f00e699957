// Reads what a rank's device did and which calls asked for it. Internal to profiler/questions.
#pragma once

#include "profiler/analysis/device/launches.h"
#include "profiler/questions/question.h"
#include "storage/model/lanes.h"

#include <map>
#include <string>
#include <vector>

namespace shardscope::questions {

/// Whether calls of `caller` launch work of the device of `rank`: its own, and those of the other
/// ranks of its process, where an imported process drives several devices.
[[nodiscard]] bool launchesFor(const RecordingSummary& summary, RankId caller, RankId rank);

struct DeviceLaunches {
    std::vector<analysis::LaunchedWork> all;  ///< of all streams, by start
    /// By the stream's name; its kernels, collectives and copies together.
    std::map<std::string, std::vector<analysis::LaunchedWork>> streams;
    std::vector<std::string> callNames;  ///< by LaunchCall::name
};

/// Work that begins within the selection; calls of all times, as they come before. Kernels of
/// collectives in recordings of our own do not say what launched them.
[[nodiscard]] Result<DeviceLaunches> readLaunches(const Asked& asked, RankId rank);

}  // namespace shardscope::questions
