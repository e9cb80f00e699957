#include "storage/sqlite/host_connection.h"

#include <sqlite3ext.h>

extern "C" {
SQLITE_EXTENSION_INIT1
}

namespace shardscope::storage {

Connection hostConnection(sqlite3* database, const sqlite3_api_routines* api) {
    SQLITE_EXTENSION_INIT2(api);
    const char* path = sqlite3_db_filename(database, "main");
    return Connection::borrow(database, path == nullptr ? "the database" : path);
}

char* hostText(const std::string& text) {
    return sqlite3_mprintf("%s", text.c_str());
}

}  // namespace shardscope::storage
