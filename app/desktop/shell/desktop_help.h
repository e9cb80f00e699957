// The options and keys of shardscope-desktop as app/manual takes them.
#pragma once

#include "app/desktop/shell/commands.h"
#include "app/manual/program_help.h"

namespace shardscope::desktop {

/// Keys are those of `commands`, group by group. GUI thread.
[[nodiscard]] manual::Program desktopHelp(const Commands& commands);

}  // namespace shardscope::desktop
