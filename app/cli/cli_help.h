// The command line of `shardscope` as app/manual takes it: what CLI11 was told, verb by verb.
#pragma once

#include "app/cli/command.h"
#include "app/manual/program_help.h"

namespace shardscope::cli {

/// Without what is hidden from the help. `root` is what addCommands() made.
[[nodiscard]] manual::Program programHelp(const CLI::App& root);

}  // namespace shardscope::cli
