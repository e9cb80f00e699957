// How long the ends of a run wait for a word of each other.
#pragma once

#include <chrono>

namespace shardscope::launch {

/// Whoever has nothing to say says so as often.
inline constexpr std::chrono::seconds kHeartbeatInterval{2};
/// After so much silence the other end counts as lost.
inline constexpr std::chrono::seconds kLease{15};
/// Until its recorder's first word an agent waits as long: other hosts may still be sent the
/// program.
inline constexpr std::chrono::minutes kLeaseBeforeTheStart{30};
/// What the others get to end by themselves once one rank has failed.
inline constexpr std::chrono::seconds kGraceAfterFailure{2};

}  // namespace shardscope::launch
