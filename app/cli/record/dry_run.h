// `shardscope record --dry-run`: what each rank would hold, and whether that fits here.
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/units.h"

#include <optional>
#include <string>

namespace shardscope::cli {

/// `available`: host memory that can be had now; nothing when it is not known, as for a GPU's or
/// other hosts'.
[[nodiscard]] std::string dryRunText(const run::RunConfig& config, std::optional<Bytes> available);
[[nodiscard]] std::string dryRunJson(const run::RunConfig& config, std::optional<Bytes> available);

/// Prints one of them for this machine.
int runDry(const run::RunConfig& config, bool json);

}  // namespace shardscope::cli
