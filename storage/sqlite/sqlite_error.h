// SQLite's result codes as our errors. databaseError() is for storage/sqlite only.
#pragma once

#include "storage/model/result.h"

#include <string>

struct sqlite3;

namespace shardscope::storage {

/// How a sentence about a failed write ends.
inline constexpr const char* kStaysReadable = "what was committed before stays readable";

/// A sentence with the path and what to do, by the database's last error.
[[nodiscard]] tl::unexpected<Error> databaseError(sqlite3* database, const std::string& path);

// What errors about damaged recordings advise.

/// "`shardscope repair run.sscope --output run-repaired.sscope`", to be typed as it stands.
[[nodiscard]] std::string repairCommand(const std::string& path);

}  // namespace shardscope::storage
