// The host's clock, which everything is stamped with before it moves onto the recording's.
#pragma once

#include <cstdint>
#include <ctime>

namespace shardscope {

/// CLOCK_MONOTONIC, ns: shared by all processes of a host.
[[nodiscard]] inline std::int64_t hostNow() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace shardscope
