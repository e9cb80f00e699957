// Whether this host's processor can run a rank at all.
#pragma once

#include "storage/model/result.h"

namespace shardscope::launch {

/// LibTorch is compiled for x86-64-v2 (SSE4.2, SSSE3, POPCNT: x86-64 psABI, 2020) and dies of an
/// illegal instruction below it. kLaunch, with what is missing.
Result<void> checkProcessor();

}  // namespace shardscope::launch
