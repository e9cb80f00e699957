// Run files that Shardscope wrote (toToml() in run_config.h).
#pragma once

#include "engine/run/config/run_config.h"

#include <string>

namespace shardscope::run {

/// Whether a file is what toToml() has made, and so may be replaced by another of them.
[[nodiscard]] bool isSavedRunFile(const std::string& path);

}  // namespace shardscope::run
