// Takes rows of collectives out of a recording that is being written. Part of the writer.
#pragma once

#include "storage/model/ids.h"
#include "storage/model/result.h"
#include "storage/model/units.h"
#include "storage/sqlite/connection.h"

#include <cstdint>

namespace shardscope::storage {

/// Those of a rank that were issued before `until`; how many they were. Within the open
/// transaction.
[[nodiscard]] Result<std::uint64_t> removeCollectives(Connection& connection, RankId rank,
                                                      Timestamp until);

}  // namespace shardscope::storage
