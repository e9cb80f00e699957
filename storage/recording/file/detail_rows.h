// The table `detail`: steps of which the file holds less than the run's capture level.
#pragma once

#include "storage/model/detail.h"
#include "storage/sqlite/connection.h"

#include <vector>

namespace shardscope::storage {

/// By rank, then first step; none in a file from before the table was.
Result<std::vector<DetailFacts>> readDetail(Connection& connection);

/// Adds a row; one that goes on where a row of the same rank, level and reason ends, or lies
/// within it, makes that one longer.
Result<void> putDetail(Connection& connection, const DetailFacts& detail);

/// Events that came late, after what started with them had been thinned. There is such a row.
Result<void> countLateRemovals(Connection& connection, RankId rank, std::uint64_t events);

/// A number that changes whenever something is taken out of a file that is being written.
Result<std::int64_t> thinningState(Connection& connection);

}  // namespace shardscope::storage
