// SQLite's functions: of the library we link, or of the program that loads us as an extension.
// Internal to storage/sqlite.
#pragma once

#ifdef SHARDSCOPE_SQLITE_EXTENSION
#include <sqlite3ext.h>
extern "C" {
SQLITE_EXTENSION_INIT3
}
#else
#include <sqlite3.h>
#endif
