// Whether the process of another rank of this host still runs.
//
// Asked through /proc: unlike kill(pid, 0) that tells a process that has died but not been
// reaped, and one that another program got the number of.
#pragma once

#include "engine/comm/communicator.h"

#include <cstdint>
#include <string>

namespace shardscope::comm {

/// Zeros: not known (yet).
struct ProcessIdentity {
    std::int64_t pid = 0;
    std::uint64_t startTicks = 0;  ///< since boot; field 22 of /proc/PID/stat
};

[[nodiscard]] ProcessIdentity thisProcess();

enum class ProcessState : std::uint8_t { kRuns, kStopped, kGone, kUnknown };

/// kRuns for this very process: its ranks are threads, which cannot go without it.
[[nodiscard]] ProcessState stateOf(const ProcessIdentity& process);

// A peer did not come in time. It may itself wait for another.

class PeerLate : public PeerError {
public:
    using PeerError::PeerError;
};

}  // namespace shardscope::comm
