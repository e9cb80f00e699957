// The machine this window runs on.
#pragma once

#include "storage/model/units.h"

namespace shardscope::desktop {

/// The machine a run would be started on.
struct MachineFacts {
    int cores = 1;
    Bytes freeMemory;
    Bytes totalMemory;
};
[[nodiscard]] MachineFacts thisMachine();

}  // namespace shardscope::desktop
