// libshardscope_sqlite: the table `events` and the views for sqlite3 and whatever else loads
// extensions of SQLite.
//
//   sqlite3 run.sscope ".load .../libshardscope_sqlite" "SELECT count(*) FROM events"
#include "storage/recording/read/events_table.h"
#include "storage/sqlite/host_connection.h"

#include <exception>

extern "C" __attribute__((visibility("default"))) int sqlite3_shardscopesqlite_init(
    sqlite3* database, char** message, const sqlite3_api_routines* api) {
    using namespace shardscope::storage;
    constexpr int kOk = 0, kError = 1;
    try {
        const auto added = addEventsTable(hostConnection(database, api));
        if (added) return kOk;
        *message = hostText(added.error().message);
    } catch (const std::exception& error) {
        *message = hostText(error.what());
    }
    return kError;
}
