// The clock that events are stamped with before they move onto the recording's.
#pragma once

#include <cstdint>
#include <ctime>

namespace shardscope::capture {

/// CLOCK_MONOTONIC, ns: shared by all processes of a host.
[[nodiscard]] inline std::int64_t hostNow() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace shardscope::capture
