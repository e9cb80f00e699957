// What errors about damaged recordings advise.
#pragma once

#include <string>

namespace shardscope::storage {

/// "`shardscope repair run.sscope --output run-repaired.sscope`", to be typed as it stands.
[[nodiscard]] std::string repairCommand(const std::string& path);

}  // namespace shardscope::storage
