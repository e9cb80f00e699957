#include "storage/sqlite/untrusted_database.h"

#include "storage/sqlite/sqlite_api.h"

namespace shardscope::storage {
namespace {

/// Far more than any export has, far less than what would fill the memory.
constexpr std::size_t kMostObjects = 20'000;
constexpr sqlite3_int64 kMostSchemaBytes = sqlite3_int64{64} << 20;
constexpr int kMostSqlBytes = 1 << 20;
constexpr int kOperationsACheck = 1000;

tl::unexpected<Error> unreadable(const std::string& path, const std::string& why) {
    return failure(ErrorCode::kUnreadable, path + " cannot be read as an SQLite database (" + why +
                                               "): it is damaged, export it again");
}

std::string schemaError(sqlite3* database) {
    return sqlite3_errcode(database) == SQLITE_INTERRUPT ? "its schema is larger than 64 MiB"
                                                         : sqlite3_errmsg(database);
}

std::string quotedName(std::string_view name) {
    return '"' + std::string(name) + '"';
}

/// SELECT on tables of the file itself, and what lists a table's columns. `inner` is the view or
/// trigger that would read.
int onlyPlainReads(void*, int action, const char* first, const char*, const char* database,
                   const char* inner) {
    if (action == SQLITE_SELECT) return SQLITE_OK;
    if (action == SQLITE_PRAGMA)
        return std::string_view(first) == "table_xinfo" ? SQLITE_OK : SQLITE_DENY;
    const bool plain =
        database != nullptr && std::string_view(database) == "main" && inner == nullptr;
    return action == SQLITE_READ && plain ? SQLITE_OK : SQLITE_DENY;
}

}  // namespace

/// Ends the reading of a schema that is too large to be true.
struct UntrustedDatabase::Guard {
    sqlite3_int64 memoryBefore = sqlite3_memory_used();
    static int check(void* self) {
        const auto* guard = static_cast<const Guard*>(self);
        return sqlite3_memory_used() - guard->memoryBefore > kMostSchemaBytes ? 1 : 0;
    }
};

UntrustedDatabase::UntrustedDatabase(Connection connection)
    : m_guard(std::make_unique<Guard>()),
      m_connection(std::make_unique<Connection>(std::move(connection))) {
    sqlite3* database = m_connection->handle();
    m_connection->distrustSchema();
    // A column that is not there must not become a text.
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kMostValueBytes);
    sqlite3_limit(database, SQLITE_LIMIT_SQL_LENGTH, kMostSqlBytes);
    sqlite3_limit(database, SQLITE_LIMIT_EXPR_DEPTH, 100);
    sqlite3_set_authorizer(database, onlyPlainReads, nullptr);
}

UntrustedDatabase::UntrustedDatabase(UntrustedDatabase&&) noexcept = default;
UntrustedDatabase& UntrustedDatabase::operator=(UntrustedDatabase&&) noexcept = default;
UntrustedDatabase::~UntrustedDatabase() = default;

Result<UntrustedDatabase> UntrustedDatabase::open(const std::string& path) {
    auto connection = Connection::open(path, Connection::Mode::kImmutable);
    if (!connection) return failure(connection);
    // Pages whose cells lie outside of them are found before they are used.
    if (auto set = connection->execute("PRAGMA cell_size_check=ON"); !set)
        return unreadable(path, set.error().message);
    UntrustedDatabase database(std::move(*connection));
    if (auto read = database.readObjects(); !read) return failure(read);
    return database;
}

Result<void> UntrustedDatabase::readObjects() {
    sqlite3* database = m_connection->handle();
    sqlite3_progress_handler(database, kOperationsACheck, Guard::check, m_guard.get());
    auto statement = m_connection->prepare("SELECT type, name, rootpage FROM sqlite_master");
    if (!statement) return unreadable(path(), schemaError(database));
    while (true) {
        auto row = statement->step();
        if (!row) return unreadable(path(), schemaError(database));
        if (!*row) break;
        if (m_objects.size() == kMostObjects)
            return unreadable(path(), "more than " + std::to_string(kMostObjects) + " tables");
        Object object{std::string(statement->text(1)), std::string(statement->text(0))};
        if (object.kind == "table" && statement->integer(2) == 0) object.kind = "virtual table";
        m_objects.push_back(std::move(object));
    }
    sqlite3_progress_handler(database, 0, nullptr, nullptr);
    return {};
}

Result<std::vector<UntrustedDatabase::Column>> UntrustedDatabase::columns(std::string_view table) {
    auto statement = m_connection->prepare("PRAGMA table_xinfo(" + quotedName(table) + ")");
    if (!statement) return unreadable(path(), sqlite3_errmsg(m_connection->handle()));
    std::vector<Column> found;
    int keys = 0;
    while (true) {
        auto row = statement->step();
        if (!row) return unreadable(path(), sqlite3_errmsg(m_connection->handle()));
        if (!*row) break;
        // cid, name, type, notnull, dflt_value, pk, hidden
        constexpr int kName = 1, kType = 2, kKey = 5, kHidden = 6;
        const bool key = statement->integer(kKey) != 0;
        keys += key ? 1 : 0;
        std::string type(statement->text(kType));
        for (char& c : type) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
        found.push_back({std::string(statement->text(kName)), key && type == "INTEGER",
                         statement->integer(kHidden) != 0});
    }
    if (keys != 1)
        for (Column& column : found) column.rowId = false;
    return found;
}

Result<TableScan> UntrustedDatabase::scan(std::string_view table,
                                          const std::vector<std::string>& columns) {
    std::string sql = "SELECT ";
    for (const std::string& column : columns)
        sql += (column.empty() ? std::string("NULL") : quotedName(column)) + ", ";
    auto statement = m_connection->prepare(sql + "rowid FROM " + quotedName(table));
    if (!statement)
        return failure(ErrorCode::kUnreadable, path() + ": table " + std::string(table) +
                                                   " is no plain table (" +
                                                   sqlite3_errmsg(m_connection->handle()) + ")");
    return TableScan(std::move(*statement), static_cast<int>(columns.size()), path(),
                     std::string(table));
}

Result<Statement> UntrustedDatabase::lookUp(std::string_view table, std::string_view column) {
    auto statement = m_connection->prepare("SELECT " + quotedName(column) + " FROM " + quotedName(table) +
                                           " WHERE rowid=?1");
    if (!statement) return unreadable(path(), sqlite3_errmsg(m_connection->handle()));
    return statement;
}

Result<bool> TableScan::next() {
    auto row = m_statement.step();
    if (!row)
        return failure(ErrorCode::kUnreadable, m_path + " is damaged or truncated in table " +
                                                   m_table + " (" + row.error().message +
                                                   "): export it again");
    if (!*row) return false;
    const std::int64_t id = m_statement.integer(m_rowIdColumn);
    if (m_any && id <= m_rowId)
        return failure(ErrorCode::kUnreadable, m_path + " is damaged: rows of table " + m_table +
                                                   " come twice, export it again");
    m_any = true;
    m_rowId = id;
    return true;
}

}  // namespace shardscope::storage
