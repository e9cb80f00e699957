// Collectives as they stand in their table. Part of the reader.
#pragma once

#include "storage/model/events.h"
#include "storage/recording/read/peer_arrivals.h"
#include "storage/sqlite/connection.h"

#include <vector>

namespace shardscope::storage {

/// Those of one rank that intersect `range`, by sequence; what `peers` know of arrivals among it.
Result<std::vector<CollectiveEvent>> readCollectives(Connection& connection, RankId rank,
                                                     TimeRange range, PeerArrivals& peers);

}  // namespace shardscope::storage
