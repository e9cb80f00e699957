// Reads what a rank's device did and which calls asked for it. Internal to profiler/questions.
#pragma once

#include "profiler/analysis/device/launches.h"
#include "profiler/questions/question.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::questions {

/// Of a lane's name, the stream or thread: what follows after ": " is what the lane shows of it.
[[nodiscard]] constexpr std::string_view withoutUse(std::string_view laneName) {
    return laneName.substr(0, laneName.find(": "));
}

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
