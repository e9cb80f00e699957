// What this machine is, for the recording.
#pragma once

#include "storage/model/recording.h"

namespace shardscope::launch {

[[nodiscard]] HostFacts hostFacts();

}  // namespace shardscope::launch
