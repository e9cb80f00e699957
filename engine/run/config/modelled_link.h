// What is said of a link that is not there.
#pragma once

#include "engine/run/config/run_config.h"

#include <string>

namespace shardscope::run {

/// "modelled: 50 us, 1.25 GB/s"; empty for ranks on a real link.
[[nodiscard]] std::string modelledLink(const RunConfig& config);

}  // namespace shardscope::run
