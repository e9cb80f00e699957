// What the kernel says of a process: what keeps it from running, and how much it has run.
#pragma once

#include "engine/run/protocol/messages.h"
#include "storage/model/units.h"

#include <sys/types.h>

#include <string>

namespace shardscope::launch {

struct ProcessLook {
    run::ProcessHold hold = run::ProcessHold::kEnded;
    Duration processor;  ///< of all threads
};

/// Through /proc, of a process of this host and user. Of one that is not there: kEnded.
[[nodiscard]] ProcessLook lookAt(pid_t pid);

/// It will not run by itself, whatever it would do.
[[nodiscard]] bool isHeld(run::ProcessHold hold);

/// "is stopped (kill -CONT 12 lets it go on)"; of process `pid`.
[[nodiscard]] std::string holdText(run::ProcessHold hold, std::int64_t pid);

}  // namespace shardscope::launch
