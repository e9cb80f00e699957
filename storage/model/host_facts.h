// Rows of hosts and of their clocks (storage/schema/FORMAT.md).
#pragma once

#include "storage/model/events.h"

#include <cstdint>
#include <string>

namespace shardscope {

struct HostFacts {
    std::int32_t host = 0;
    std::string name;
    std::string cpu;
    std::int32_t cores = 0;
    Bytes memory;
    std::string bootId;
    std::int64_t clockOffsetNs = 0;  ///< recording clock = host clock + offset
    std::int64_t clockErrorNs = 0;   ///< bound on the offset's error
};

/// A comparison of another host's clock with the recorder's, and what its ranks' times were
/// corrected by from then on. Until the first one HostFacts::clockOffsetNs holds.
struct ClockFacts {
    std::int32_t host = 0;
    Timestamp time;
    std::int64_t offsetNs = 0;  ///< recording clock = host clock + offset at `time`
    std::int64_t driftPpb = 0;  ///< by which the host's clock gains on the recorder's, ns a second
    std::int64_t errorNs = 0;   ///< bound on what was measured
    std::int64_t residualNs = 0;  ///< measured less what was in force until then
    bool stepped = false;         ///< the clock had been set: more than drift and error explain
};

}  // namespace shardscope
