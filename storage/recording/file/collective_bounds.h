// How many collectives a recording has, and when. Of a long run going through its rows takes longer
// than all else that is read when it is opened, so a finalised file says it in `meta`.
#pragma once

#include "storage/model/units.h"
#include "storage/sqlite/connection.h"

#include <cstdint>
#include <optional>

namespace shardscope::storage {

struct CollectiveBounds {
    std::uint64_t count = 0;
    TimeRange range;  ///< from the least start to the greatest end; of none it says nothing
    friend bool operator==(const CollectiveBounds&, const CollectiveBounds&) = default;
};

/// As its rows are now, all of which are gone through.
Result<CollectiveBounds> countCollectives(Connection& connection);
/// As they were when the recording was finalised; nothing where the file does not say it.
Result<std::optional<CollectiveBounds>> storedCollectives(Connection& connection);

/// Puts them into `meta`. Not of packed rows, which are read when the file is opened anyway.
Result<void> storeCollectiveBounds(Connection& connection);

}  // namespace shardscope::storage
