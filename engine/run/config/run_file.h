// Run files that may name programs, and those that Shardscope wrote (toToml() in run_config.h).
#pragma once

#include "engine/run/config/run_commands.h"
#include "engine/run/config/run_config.h"
#include "storage/model/result.h"
#include "storage/model/run_label.h"

#include <string>

namespace shardscope::run {

/// As readRunFile() of run_config.h, which takes a setting that runs something for an error; here
/// `mayRun` says which may. Keys `name` and `tags`, which are no settings, go to `label`, if any.
Result<RunConfig> readRunFile(const std::string& path, const RunConfig& defaults,
                              const MayRun& mayRun, RunLabel* label = nullptr);

/// As toToml() of run_config.h, with what the user calls the run; its tags are left out.
[[nodiscard]] std::string toToml(const RunConfig& config, const RunLabel& label);

/// Whether a file is what toToml() has made, and so may be replaced by another of them.
[[nodiscard]] bool isSavedRunFile(const std::string& path);

}  // namespace shardscope::run
