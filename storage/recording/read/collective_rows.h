// Collectives as they stand in their table. Part of the reader.
#pragma once

#include "storage/model/events.h"
#include "storage/sqlite/connection.h"

#include <vector>

namespace shardscope::storage {

/// Those of one rank that intersect `range`, by sequence.
Result<std::vector<CollectiveEvent>> readCollectives(Connection& connection, RankId rank,
                                                     TimeRange range);

}  // namespace shardscope::storage
