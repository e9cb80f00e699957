// A folder of this user's alone, on this host and until it is started anew: for sockets, and for
// what processes leave there of themselves.
#pragma once

#include "storage/model/result.h"

#include <string>

namespace shardscope::launch {

/// $XDG_RUNTIME_DIR/shardscope where that variable names a folder of this user's, else
/// /tmp/shardscope-UID. Need not be there.
[[nodiscard]] std::string userFolder();

/// Makes it where it is missing, or a folder below it; nobody else may have prepared it (kFailure).
Result<std::string> makeUserFolder(const std::string& below = {});

}  // namespace shardscope::launch
