#include "storage/sqlite/connection.h"

#include "storage/sqlite/sqlite_api.h"
#include "storage/sqlite/sqlite_error.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace shardscope::storage {
namespace {

constexpr int kBusyTimeoutMs = 5000;
/// What a thousand traces say beside their events is one value.
constexpr int kMostBytesOfOurs = 512 << 20;

/// `file:` form of a path; needed for immutable=1.
std::string uriOf(const std::string& path) {
    std::string uri = "file:";
    for (const char c : path) {
        if (c == '?' || c == '#' || c == '%') {
            constexpr const char* kHex = "0123456789ABCDEF";
            uri += '%';
            uri += kHex[static_cast<unsigned char>(c) >> 4];
            uri += kHex[static_cast<unsigned char>(c) & 15];
        } else {
            uri += c;
        }
    }
    return uri + "?immutable=1";
}

int readsOnly(void*, int action, const char* first, const char* second, const char*, const char*) {
    switch (action) {
        case SQLITE_SELECT:
        case SQLITE_READ:
        case SQLITE_FUNCTION:
        case SQLITE_RECURSIVE:
            return SQLITE_OK;
        case SQLITE_PRAGMA:
            // Asking is fine; a PRAGMA with a value would change the connection, except for the
            // ones that take a table's name.
            if (second == nullptr) return SQLITE_OK;
            return std::string_view(first).ends_with("_info") ||
                           std::string_view(first).ends_with("_list")
                       ? SQLITE_OK
                       : SQLITE_DENY;
        default:
            return SQLITE_DENY;
    }
}

/// Of a database that is only read and was removed meanwhile; else empty.
std::string removedFileOf(sqlite3* database) {
    if (sqlite3_db_readonly(database, "main") != 1) return {};
    const char* name = sqlite3_db_filename(database, "main");
    struct stat facts {};
    if (name == nullptr || *name == '\0' || stat(name, &facts) == 0 || errno != ENOENT) return {};
    return name;
}

/// A reader whose first reading fell together with the removal has made an empty log or its index
/// anew, which SQLite leaves behind. A log with content is not a reader's.
void removeEmptyLog(const std::string& path) {
    struct stat facts {};
    const std::string log = path + "-wal";
    if (stat(log.c_str(), &facts) == 0 && facts.st_size != 0) return;
    unlink(log.c_str());
    unlink((path + "-shm").c_str());
}

}  // namespace

void Connection::Closer::operator()(sqlite3* database) const {
    if (!owned) return;
    const std::string removed = removedFileOf(database);
    sqlite3_close_v2(database);
    if (!removed.empty()) removeEmptyLog(removed);
}

Connection Connection::borrow(sqlite3* database, std::string path) {
    return {database, std::move(path), false};
}

Result<Connection> Connection::open(const std::string& path, Mode mode) {
    int flags = SQLITE_OPEN_NOMUTEX;
    flags |=
        mode == Mode::kCreate ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    if (mode == Mode::kImmutable) flags |= SQLITE_OPEN_URI;
    const std::string name = mode == Mode::kImmutable ? uriOf(path) : path;
    const char* vfs = mode == Mode::kReadOnlyPrivate ? "unix-none" : nullptr;
    sqlite3* database = nullptr;
    const int code = sqlite3_open_v2(name.c_str(), &database, flags, vfs);
    Connection connection(database, path);
    if (code != SQLITE_OK) return databaseError(database, path);
    sqlite3_extended_result_codes(database, 1);
    sqlite3_busy_timeout(database, kBusyTimeoutMs);
    if (mode == Mode::kReadOnlyPrivate) {
        // Exclusive locking keeps the WAL's index in this process's memory.
        if (auto set = connection.execute("PRAGMA locking_mode=EXCLUSIVE"); !set)
            return failure(set);
    }
    return connection;
}

Result<void> Connection::execute(const std::string& sql) {
    if (sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        return databaseError(handle(), path());
    return {};
}

Result<Statement> Connection::prepare(std::string_view sql) {
    sqlite3_stmt* statement = nullptr;
    const char* tail = nullptr;
    if (sqlite3_prepare_v2(handle(), sql.data(), static_cast<int>(sql.size()), &statement, &tail) !=
        SQLITE_OK)
        return databaseError(handle(), path());
    if (statement == nullptr) return failure(ErrorCode::kUsage, "the SQL statement is empty");
    Statement prepared(statement, m_path);
    const std::string_view rest(tail, static_cast<std::size_t>(sql.data() + sql.size() - tail));
    if (rest.find_first_not_of(" \t\r\n;") != std::string_view::npos)
        return failure(ErrorCode::kUsage,
                       "only one SQL statement at a time: remove what follows the first ';'");
    return prepared;
}

Result<std::int64_t> Connection::integer(std::string_view sql) {
    auto statement = prepare(sql);
    if (!statement) return failure(statement);
    auto row = statement->step();
    if (!row) return failure(row);
    if (!*row) return failure(ErrorCode::kUnreadable, path() + " lacks a row that must be there");
    return statement->integer(0);
}

Result<bool> Connection::hasTable(std::string_view table) {
    auto select = prepare("SELECT count(*) FROM main.sqlite_master WHERE type='table' AND name=?");
    if (!select) return failure(select);
    auto row = select->bind(1, table).step();
    if (!row) return failure(row);
    return select->integer(0) > 0;
}

Result<std::vector<std::string>> Connection::columnsOf(std::string_view table) {
    auto select = prepare("SELECT name FROM pragma_table_info(?) ORDER BY cid");
    if (!select) return failure(select);
    select->bind(1, table);
    std::vector<std::string> columns;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return columns;
        columns.emplace_back(select->text(0));
    }
}

std::int64_t Connection::lastInsertedId() const {
    return sqlite3_last_insert_rowid(handle());
}

std::optional<std::string> Connection::sqlFault() const {
    if ((sqlite3_errcode(handle()) & 0xFF) != SQLITE_ERROR) return std::nullopt;
    return sqlite3_errmsg(handle());
}

bool Connection::refusedValues() const {
    const int code = sqlite3_errcode(handle()) & 0xFF;
    return code == SQLITE_CONSTRAINT || code == SQLITE_MISMATCH || code == SQLITE_TOOBIG;
}

bool Connection::inTransaction() const {
    return sqlite3_get_autocommit(handle()) == 0;
}

void Connection::distrustSchema() {
    for (const auto& [option, value] :
         {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1}, std::pair{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
          std::pair{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, std::pair{SQLITE_DBCONFIG_ENABLE_VIEW, 0},
          std::pair{SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}})
        sqlite3_db_config(handle(), option, value, nullptr);
    sqlite3_limit(handle(), SQLITE_LIMIT_LENGTH, kMostBytesOfOurs);
    sqlite3_limit(handle(), SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(handle(), SQLITE_LIMIT_TRIGGER_DEPTH, 0);
}

void Connection::allowSchemaRepair() {
    sqlite3_db_config(handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
}

void Connection::refuseWrites() {
    sqlite3_set_authorizer(handle(), readsOnly, nullptr);
}

void Connection::stopWhen(std::function<bool()> wanted) {
    constexpr int kOperationsACheck = 4000;
    m_stop = std::make_unique<std::function<bool()>>(std::move(wanted));
    sqlite3_progress_handler(
        handle(), kOperationsACheck,
        [](void* stop) { return (*static_cast<std::function<bool()>*>(stop))() ? 1 : 0; },
        m_stop.get());
}

void Connection::leaveLog() {
    sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

Result<Transaction> Transaction::begin(Connection& connection) {
    if (auto begun = connection.execute("BEGIN IMMEDIATE"); !begun) return failure(begun);
    return Transaction(connection);
}

Transaction::~Transaction() {
    // A full disk has rolled back already; a second ROLLBACK would be an error of its own.
    if (m_connection != nullptr && m_connection->inTransaction())
        static_cast<void>(m_connection->execute("ROLLBACK"));
}

Result<void> Transaction::commit() {
    if (auto done = m_connection->execute("COMMIT"); !done) return done;
    m_connection = nullptr;
    return {};
}

}  // namespace shardscope::storage
