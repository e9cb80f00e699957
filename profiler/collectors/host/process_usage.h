// What the operating system says of this process: CPU time and resident memory.
#pragma once

#include "storage/model/units.h"

#include <cstdint>

namespace shardscope::collectors {

struct ProcessUsage {
    std::int64_t cpuTimeNs = 0;  ///< user and system, all threads
    Bytes residentSet;
};

/// A few microseconds; any thread.
[[nodiscard]] ProcessUsage processUsage();

/// All other threads have ended, the first one by pthread_exit(): the process ends with the
/// caller. Two microseconds.
[[nodiscard]] bool isLastThread();

}  // namespace shardscope::collectors
