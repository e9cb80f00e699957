#include "storage/recording/file/open_connection.h"

#include "storage/recording/file/recording_file.h"
#include "storage/sqlite/repair_command.h"

#include <filesystem>

namespace shardscope::storage {
namespace {

/// A table or view that hides the virtual table of queries; views in place of tables SQLite
/// refuses.
Result<void> checkSchema(Connection& connection) {
    auto hiding =
        connection.integer("SELECT count(*) FROM sqlite_master WHERE name='events' COLLATE NOCASE");
    if (!hiding) return failure(hiding);
    if (*hiding == 0) return {};
    return failure(ErrorCode::kUnreadable,
                   connection.path() +
                       " has a table named events, which no recording has: it was changed by "
                       "another program; " +
                       repairCommand(connection.path()) + " keeps what is Shardscope's of it");
}

/// Opening is lazy in SQLite; reading a row makes it recover the WAL or fail.
Result<Connection> openAs(const std::string& path, Connection::Mode mode) {
    auto connection = Connection::open(path, mode);
    if (!connection) return connection;
    connection->distrustSchema();
    if (auto plain = checkSchema(*connection); !plain) return failure(plain);
    if (auto rows = connection->integer("SELECT count(*) FROM run"); !rows) return failure(rows);
    if (auto set = connection->execute("PRAGMA query_only=ON"); !set) return failure(set);
    return connection;
}

/// A writer that was killed in the very last steps of finalising leaves a journal, which takes back
/// what it had half changed. SQLite applies it at the first chance to write, which a reader is not.
bool takeBackHalfChanges(const std::string& path) {
    std::error_code error;
    if (std::filesystem::file_size(path + "-journal", error) == 0 || error) return false;
    auto writing = Connection::open(path, Connection::Mode::kCreate);
    return writing && writing->integer("SELECT count(*) FROM run").has_value();
}

}  // namespace

Result<Connection> openReadingConnection(const std::string& path) {
    if (auto checked = checkRecordingFile(path); !checked) return failure(checked);
    auto shared = openAs(path, Connection::Mode::kReadOnly);
    if (!shared && takeBackHalfChanges(path)) shared = openAs(path, Connection::Mode::kReadOnly);
    if (shared) return shared;
    // A WAL in a folder that cannot be written: no shared memory can be made beside it.
    if (auto alone = openAs(path, Connection::Mode::kReadOnlyPrivate)) return alone;
    if (auto main = openAs(path, Connection::Mode::kImmutable)) return main;
    return shared;
}

}  // namespace shardscope::storage
