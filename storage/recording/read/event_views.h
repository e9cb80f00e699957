// The views on the table `events`, and tables that a file keeps as columns, for SQL of users.
#pragma once

#include "storage/sqlite/connection.h"

namespace shardscope::storage {

/// Of a connection that has the table `events` and may make temporary tables. They live in the
/// connection, not in the file; called again, they look where the rows are by now.
Result<void> addEventViews(Connection& connection);

}  // namespace shardscope::storage
