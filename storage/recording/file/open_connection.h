// A reading connection to a recording in whatever state its writer left it.
#pragma once

#include "storage/sqlite/connection.h"

#include <string>

namespace shardscope::storage {

Result<Connection> openReadingConnection(const std::string& path);

}  // namespace shardscope::storage
