// The connection of a program that has loaded us as an extension. Only in the extension.
#pragma once

#include "storage/sqlite/connection.h"

struct sqlite3_api_routines;

namespace shardscope::storage {

/// To be called first: from here on `api` are SQLite's functions. Never closes the connection.
[[nodiscard]] Connection hostConnection(sqlite3* database, const sqlite3_api_routines* api);

/// A text that the loading program frees.
[[nodiscard]] char* hostText(const std::string& text);

}  // namespace shardscope::storage
