// The database of an Nsight Systems export that is being written, schema 3.25.
//
// Tables that every export of a training run has are made at once, others with their first row.
// One thread; the first error is kept and said by finish().
#pragma once

#include "storage/interchange/nsys/table_specs.h"
#include "storage/sqlite/connection.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace shardscope::interchange::nsys {

/// Nothing is NULL. Texts must live until the row is inserted.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string_view>;

class NsysDatabase {
public:
    static Result<NsysDatabase> create(const std::string& path);

    /// Id in StringIds, which gets the text when it is new.
    std::int64_t textId(std::string_view text);
    /// Cells in the order of columns(). Makes the table when it is not there yet.
    void insert(std::string_view table, const std::vector<Cell>& cells);
    /// Commits; the first error of anything above.
    Result<void> finish();
    [[nodiscard]] const Result<void>& state() const { return m_state; }

private:
    explicit NsysDatabase(storage::Connection connection) : m_connection(std::move(connection)) {}
    Result<void> prepare();
    void note(const Result<void>& done) {
        if (m_state && !done) m_state = failure(done);
    }
    storage::Statement* statementOf(std::string_view table);
    void addEnumTables();

    storage::Connection m_connection;
    std::map<std::string, storage::Statement, std::less<>> m_inserts;
    std::unordered_map<std::string, std::int64_t> m_texts;
    std::optional<storage::Statement> m_insertText;
    Result<void> m_state;
};

/// Columns of a table with their types, as they stand in CREATE TABLE; empty: no such table.
[[nodiscard]] std::vector<std::string> columnsOf(std::string_view table);

}  // namespace shardscope::interchange::nsys
