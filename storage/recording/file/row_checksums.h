// A checksum of each table of rows, kept in `meta` when a recording is finalised: events have
// theirs in every chunk, rows would have none.
#pragma once

#include "storage/model/recording.h"
#include "storage/sqlite/connection.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardscope::storage {

/// Puts into `meta` what a finalised file says of its rows: bounds of its collectives
/// (collective_bounds.h) and the checksums of all tables as they are now. Nothing may be written
/// after it.
Result<void> sealRows(Connection& connection);

/// Tables that have fewer or more rows than were finalised: cheaper than their checksums. `known`:
/// rows of tables that were counted already, which of a long run's collectives takes long.
Result<std::vector<LostRows>> lostRows(Connection& connection,
                                       const std::map<std::string, std::uint64_t>& known = {});

/// A table that was finalised with a checksum, and what its rows are now.
struct CheckedTable {
    std::string table;
    bool matches = false;
    std::string fault;  ///< why it cannot be read; empty: it can
};
/// None of a file from before format 1.3, or one that is not finalised.
Result<std::vector<CheckedTable>> checkRowChecksums(Connection& connection);

}  // namespace shardscope::storage
