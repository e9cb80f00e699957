// An SQLite file from elsewhere, which may be malicious: it is only ever scanned, table by
// table.
//
// Opened read-only and as it lies (no journal is applied, no lock taken). Nothing in its schema
// can run: no view, trigger, virtual table, generated column or function. One thread.
#pragma once

#include "storage/sqlite/connection.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::storage {

/// Rows of one table in order of their ids, which must ascend: a file whose pages refer to one
/// another in circles would have no end otherwise.
class TableScan {
public:
    /// kUnreadable with a sentence when the file is damaged here.
    Result<bool> next();
    /// Columns count from 0 in the order asked for; valid until next().
    [[nodiscard]] const Statement& row() const { return m_statement; }
    [[nodiscard]] std::int64_t rowId() const { return m_rowId; }

private:
    friend class UntrustedDatabase;
    TableScan(Statement statement, int rowIdColumn, std::string path, std::string table)
        : m_statement(std::move(statement)),
          m_rowIdColumn(rowIdColumn),
          m_path(std::move(path)),
          m_table(std::move(table)) {}

    Statement m_statement;
    int m_rowIdColumn;
    std::string m_path, m_table;
    std::int64_t m_rowId = 0;
    bool m_any = false;
};

class UntrustedDatabase {
public:
    /// A longer value is refused rather than held in memory.
    static constexpr int kMostValueBytes = Connection::kMostValueBytes;

    static Result<UntrustedDatabase> open(const std::string& path);
    UntrustedDatabase(UntrustedDatabase&&) noexcept;
    UntrustedDatabase& operator=(UntrustedDatabase&&) noexcept;
    ~UntrustedDatabase();

    struct Object {
        std::string name;
        std::string kind;  ///< "table", "virtual table", "view", "index", "trigger"
    };
    [[nodiscard]] const std::vector<Object>& objects() const { return m_objects; }

    struct Column {
        std::string name;
        bool rowId = false;      ///< the row's id under another name
        bool generated = false;  ///< computed by the file's own expression
    };
    /// Of an object of kind "table" whose name has only letters, digits and underscores.
    Result<std::vector<Column>> columns(std::string_view table);

    /// Names are the caller's constants or come from columns(); empty ones read as NULL.
    Result<TableScan> scan(std::string_view table, const std::vector<std::string>& columns);
    /// One row by its id, to be bound to 1.
    Result<Statement> lookUp(std::string_view table, std::string_view column);

    [[nodiscard]] const std::string& path() const { return m_connection->path(); }

private:
    struct Guard;
    explicit UntrustedDatabase(Connection connection);
    Result<void> readObjects();

    std::unique_ptr<Guard> m_guard;  ///< outlives the connection, which calls it
    std::unique_ptr<Connection> m_connection;
    std::vector<Object> m_objects;
};

}  // namespace shardscope::storage
