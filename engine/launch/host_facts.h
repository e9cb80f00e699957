// What this machine is, for the recording.
#pragma once

#include "storage/model/recording.h"
#include "storage/model/units.h"

#include <optional>

namespace shardscope::launch {

[[nodiscard]] HostFacts hostFacts();

/// Memory that new processes can have without swapping, as the kernel estimates it; nothing where
/// that cannot be told.
[[nodiscard]] std::optional<Bytes> freeMemory();

}  // namespace shardscope::launch
