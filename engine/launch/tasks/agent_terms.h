// What the agent of a task does for a recorder that it is connected to over a network: it starts
// ranks of its own program, with the files and folders of its own task's command line. A recorder
// that is not what it seems can ask for nothing else; one that reaches its agents through ssh is
// this user's own and may.
//
// Pure functions.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/result.h"

#include <map>
#include <string>

namespace shardscope::launch {

/// Files and folders that ranks of a settled run use, by RunOption::key.
[[nodiscard]] std::map<std::string, std::string> pathsOf(const run::RunConfig& config);

/// kLaunch with a sentence that names what goes beyond the terms: a program, an environment
/// variable that chooses more than devices, threads and networks, a path.
Result<void> checkTerms(const run::TaskTerms& terms, const run::LaunchRequest& request);
Result<void> checkTerms(const run::TaskTerms& terms, const run::DataRequest& request);

}  // namespace shardscope::launch
