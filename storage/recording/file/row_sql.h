// SQL of tables whose rows are structs (storage/model/recording_tables.h), and values on their way
// between cells and members. Not a number is NULL; an enumerator that does not exist is read as the
// last value of its type, which has no word.
#pragma once

#include "storage/model/detail.h"
#include "storage/model/recording_tables.h"
#include "storage/sqlite/connection.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::storage {

[[nodiscard]] inline int columnCount(const Table& table) {
    return static_cast<int>(table.columns.list.size());
}
/// "rank, step, start_ns": those of the struct.
[[nodiscard]] std::string columnList(const Table& table);
/// Parameters are the struct's columns; others keep their defaults.
[[nodiscard]] std::string insertSql(const Table& table,
                                    const std::string& verb = "INSERT OR REPLACE");

namespace cell {

/// Of a member at `at`. Texts must live until the statement has run.
void bind(Statement& statement, int index, const Shape& shape, const void* at);
void bindAll(Statement& statement, const Table& table, const void* row, int first);

/// The columns of a struct that the file's table has, in order.
using Columns = std::vector<Field>;
/// Prepares to read them all but those that came later and that the file's format did not have;
/// nothing where it has no such table.
Result<std::optional<Statement>> select(Connection& connection, const Table& table,
                                        Columns& columns);
/// Out of the statement's columns from `first` on; other members keep their defaults.
void readInto(void* row, const Statement& statement, const Columns& columns, int first = 0);

/// Structs one after another.
struct Rows {
    void* first = nullptr;
    std::size_t bytes = 0;  ///< of each
};
/// Rows out of the copies of a long table (packed_rows.h), which `make` makes so many structs for;
/// false where there are none.
Result<bool> readCopies(Connection& connection, const Table& table,
                        const std::function<Rows(std::size_t count)>& make);

}  // namespace cell

/// The parameters from `first` on. `row` must live until the statement has run.
template <TableRow Row>
Statement& bindRow(Statement& statement, const Row& row, int first = 1) {
    cell::bindAll(statement, tableOf<Row>(), &row, first);
    return statement;
}

/// Out of the columns from `first` on.
template <TableRow Row>
[[nodiscard]] Row rowOf(const Statement& statement, int first = 0) {
    Row row;
    cell::readInto(&row, statement, tableOf<Row>().columns.list, first);
    return row;
}

/// All rows; none of a table that the file's version does not have.
template <TableRow Row>
[[nodiscard]] Result<std::vector<Row>> readRows(Connection& connection) {
    std::vector<Row> rows;
    const auto copied = cell::readCopies(connection, tableOf<Row>(), [&](std::size_t count) {
        rows.resize(rows.size() + count);
        return cell::Rows{&rows[rows.size() - count], sizeof(Row)};
    });
    if (!copied) return failure(copied);
    if (*copied) return rows;
    cell::Columns columns;
    auto select = cell::select(connection, tableOf<Row>(), columns);
    if (!select) return failure(select);
    if (!*select) return rows;
    while (true) {
        auto more = (*select)->step();
        if (!more) return failure(more);
        if (!*more) break;
        cell::readInto(&rows.emplace_back(), **select, columns);
    }
    rows.shrink_to_fit();  // they are kept, and may be many
    return rows;
}

// The table `detail`: steps of which the file holds less than the run's capture level.

/// By rank, then first step; none in a file from before the table was.
Result<std::vector<DetailFacts>> readDetail(Connection& connection);

/// Adds a row; one that goes on where a row of the same rank, level and reason ends, or lies
/// within it, makes that one longer.
Result<void> putDetail(Connection& connection, const DetailFacts& detail);

/// Events that came late, after what started with them had been thinned. There is such a row.
Result<void> countLateRemovals(Connection& connection, RankId rank, std::uint64_t events);

/// A number that changes whenever something is taken out of a file that is being written.
Result<std::int64_t> thinningState(Connection& connection);

}  // namespace shardscope::storage
