// Run files that may name programs, and those that Shardscope wrote (toToml() in run_config.h).
#pragma once

#include "engine/run/config/run_commands.h"
#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <string>

namespace shardscope::run {

/// As readRunFile() of run_config.h, which takes a setting that runs something for an error; here
/// `mayRun` says which may.
Result<RunConfig> readRunFile(const std::string& path, const RunConfig& defaults,
                              const MayRun& mayRun);

/// Whether a file is what toToml() has made, and so may be replaced by another of them.
[[nodiscard]] bool isSavedRunFile(const std::string& path);

}  // namespace shardscope::run
