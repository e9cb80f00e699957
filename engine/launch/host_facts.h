// What this machine is, for the recording.
#pragma once

#include "storage/model/recording.h"

namespace shardscope::launch {

[[nodiscard]] HostFacts hostFacts();

/// Cores this process may use (affinity mask), at least 1.
[[nodiscard]] int usableCores();

}  // namespace shardscope::launch
