// Why the kernel may have ended a process with SIGKILL, as far as its counters and limits tell.
#pragma once

#include "engine/launch/process.h"

#include <cstdint>
#include <string>

namespace shardscope::launch {

class KillCauses {
public:
    /// Remembers how often the kernel has ended processes for lack of memory so far.
    KillCauses();

    /// Of a child that ended so: "its memory ran out: ..."; empty: it ended of its own accord, or
    /// another process sent the signal.
    [[nodiscard]] std::string of(const ProcessEnd& end) const;

private:
    std::int64_t m_before;
};

}  // namespace shardscope::launch
