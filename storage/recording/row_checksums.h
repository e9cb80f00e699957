// A checksum of each table of rows, kept in `meta` when a recording is finalised: events have
// theirs in every chunk, rows would have none.
#pragma once

#include "storage/model/recording.h"
#include "storage/recording/verify_parts.h"
#include "storage/sqlite/connection.h"

#include <vector>

namespace shardscope::storage {

/// Puts the checksums of all tables as they are now into `meta`. Nothing may be written after it.
Result<void> storeRowChecksums(Connection& connection);

/// Tables that have fewer or more rows than were finalised: cheaper than their checksums.
Result<std::vector<LostRows>> lostRows(Connection& connection);

/// Names every table whose rows are others than those that were finalised.
void verifyRowChecksums(VerifyContext& context);

}  // namespace shardscope::storage
