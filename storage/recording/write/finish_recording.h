// What makes a recording small and one file when its writer is done. Part of the writer.
#pragma once

#include "storage/model/recording.h"
#include "storage/sqlite/connection.h"

#include <cstdint>

namespace shardscope::storage {

/// Seconds that the work below may take at the end of a run: two; a thousandth of its duration
/// where that is more and it ended by itself. One that was stopped may be killed soon.
[[nodiscard]] double finishSeconds(RunStatus status, Timestamp ended);
/// Of a recording that no run waits for.
inline constexpr double kWithoutHaste = 1e9;

/// Rewrites neighbouring small chunks of one kind, rank and lane into chunks of up to 65,536
/// events, within the open transaction. A merged chunk has the id of its first part: what pyramid
/// segments sum up stays true, as each reaches at least through every chunk it has events of.
/// Pyramids must have been written. Where `seconds` do not suffice, by the usual speed, the
/// smallest chunks are merged.
Result<void> mergeSmallChunks(Connection& connection, double seconds);

/// Removes pyramids of a small recording, and empties fine segments that are hardly smaller than
/// the events they sum up: readers then take the chunks. Within the open transaction.
Result<void> thinPyramids(Connection& connection);

/// Compresses events and arguments of a small recording again, harder, and packs rows
/// (packed_rows.h). Within the open transaction.
Result<void> packSmall(Connection& connection);

/// Outside a transaction: brings everything into the file itself, gives free pages back, ends WAL
/// mode. The latter two cost bytes only where they fail. Errors (kFailure, the cause without the
/// path): a reader holds an older state of it for more than a minute, the disk is full; what is
/// lacking is in the -wal. Free pages stay where there is no `room` for a second copy, and in a
/// file that `seconds` do not suffice for.
Result<void> settleIntoOneFile(Connection& connection, double seconds, bool room = true);

}  // namespace shardscope::storage
