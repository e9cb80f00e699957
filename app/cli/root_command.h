// `shardscope` as a whole: its own options, and all verbs.
#pragma once

#include "app/cli/command.h"

#include <vector>

namespace shardscope::cli {

/// Makes `root` the program's command line. The commands in the order of its help.
[[nodiscard]] std::vector<Command> addCommands(CLI::App& root);

}  // namespace shardscope::cli
