// The SQL table `events` over all chunks, and the views on it.
#pragma once

#include "storage/recording/read/event_source.h"

namespace shardscope::storage {

/// `connection` and `events` must stay where they are as long as the connection is used.
Result<void> addEventsTable(Connection& connection, EventSource& events);

/// For a connection of another program, which must be to a recording; lives as long as it does.
Result<void> addEventsTable(Connection host);

}  // namespace shardscope::storage
