// SQLite's result codes as our errors. Internal to storage/sqlite.
#pragma once

#include "storage/model/result.h"

#include <string>

struct sqlite3;

namespace shardscope::storage {

/// A sentence with the path and what to do, by the database's last error.
[[nodiscard]] tl::unexpected<Error> databaseError(sqlite3* database, const std::string& path);

}  // namespace shardscope::storage
