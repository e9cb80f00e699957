// What communicators of every kind ask of their arguments.
#pragma once

#include "storage/model/events.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace shardscope::comm {

/// This rank's place among `members`. Throws CommunicationError, in words, unless they are
/// ascending ranks of a communicator of `size` that `rank` is one of.
[[nodiscard]] int placeAmong(std::span<const int> members, int rank, int size);

/// The same for the same list; hardly ever for another.
[[nodiscard]] std::int32_t fingerprint(std::span<const int> members);

/// Throw CommunicationError unless there is such a rank, and it is another one.
void requireRank(int named, int size);
void requirePeer(int named, int rank, int size);
/// Throw CommunicationError unless there is a sum of such.
void requireSummable(DataType dtype);
void requireSmall(std::size_t values);

}  // namespace shardscope::comm
