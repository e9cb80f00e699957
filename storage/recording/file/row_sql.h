// SQL of tables whose rows are structs (storage/model/table.h), and values on their way between
// cells and members. Not a number is NULL; an enumerator that does not exist is read as the last
// value of its type, which has no word.
#pragma once

#include "storage/model/recording.h"
#include "storage/sqlite/connection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace shardscope::storage {
namespace cell {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
/// Texts must live until the statement has run.
template <class T>
void bind(Statement& statement, int index, const T& value) {
    if constexpr (kIsOptional<T>) {
        if (value)
            bind(statement, index, *value);
        else
            statement.bind(index, std::nullopt);
    } else if constexpr (std::is_same_v<T, std::string>) {
        statement.bind(index, std::string_view(value));
    } else if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(value))
            statement.bind(index, std::nullopt);
        else
            statement.bind(index, value);
    } else {
        statement.bind(index, static_cast<std::int64_t>(numberIn(value)));
    }
}

template <class T>
void read(const Statement& row, int column, T& value) {
    if constexpr (kIsOptional<T>) {
        value.reset();
        if (!row.isNull(column)) read(row, column, value.emplace());
    } else if constexpr (std::is_same_v<T, std::string>) {
        value = row.text(column);
    } else if constexpr (std::is_floating_point_v<T>) {
        value = row.isNull(column) ? std::numeric_limits<T>::quiet_NaN() : row.real(column);
    } else if constexpr (std::is_enum_v<T>) {
        const std::int64_t number = row.integer(column);
        using Number = std::underlying_type_t<T>;
        value = static_cast<T>(isValue<T>(number) ? static_cast<Number>(number)
                                                  : std::numeric_limits<Number>::max());
    } else {
        auto& number = numberIn(value);
        number = static_cast<std::remove_cvref_t<decltype(number)>>(row.integer(column));
    }
}

}  // namespace cell

/// "rank, step, start_ns": those of the struct.
template <TableRow Row>
[[nodiscard]] std::string columnList() {
    std::string list;
    forEachColumn<Row>(
        [&](const auto& column) { list.append(list.empty() ? "" : ", ").append(column.name); });
    return list;
}

/// Parameters are the struct's columns; others keep their defaults.
template <TableRow Row>
[[nodiscard]] std::string insertSql(const std::string& verb = "INSERT OR REPLACE") {
    std::string marks = "?";
    for (int i = 1; i < kColumnCount<Row>; ++i) marks += ",?";
    return verb + " INTO " + kTable<Row>.name + "(" + columnList<Row>() + ") VALUES(" + marks + ")";
}

/// The parameters from `first` on. `row` must live until the statement has run.
template <TableRow Row>
Statement& bindRow(Statement& statement, const Row& row, int first = 1) {
    forEachColumn<Row>([&](const auto& column) { cell::bind(statement, first++, column.of(row)); });
    return statement;
}

/// Out of the columns from `first` on.
template <TableRow Row>
[[nodiscard]] Row rowOf(const Statement& statement, int first = 0) {
    Row row;
    forEachColumn<Row>([&](const auto& column) { cell::read(statement, first++, column.of(row)); });
    return row;
}

/// Which columns of the struct the file's table has.
template <TableRow Row>
using ColumnsThere = std::array<bool, kColumnCount<Row>>;

/// All but those that came later and that the file's format did not have.
template <TableRow Row>
[[nodiscard]] Result<ColumnsThere<Row>> columnsThere(Connection& connection) {
    const auto found = connection.columnsOf(kTable<Row>.name);
    if (!found) return failure(found);
    ColumnsThere<Row> there{};
    std::size_t place = 0;
    forEachColumn<Row>([&](const auto& column) {
        there[place++] =
            !column.later || std::find(found->begin(), found->end(), column.name) != found->end();
    });
    return there;
}

/// Of the columns that are there, in the order of the table.
template <TableRow Row>
[[nodiscard]] std::string selectSql(const ColumnsThere<Row>& there) {
    std::string list;
    std::size_t place = 0;
    forEachColumn<Row>([&](const auto& column) {
        if (there[place++]) list.append(list.empty() ? "" : ", ").append(column.name);
    });
    const std::string order = kTable<Row>.order;
    return "SELECT " + list + " FROM " + kTable<Row>.name +
           (order.empty() ? "" : " ORDER BY " + order);
}

/// Out of the columns that are there, in order; others keep their defaults.
template <TableRow Row>
[[nodiscard]] Row rowOf(const Statement& statement, const ColumnsThere<Row>& there) {
    Row row;
    int cell = 0;
    std::size_t place = 0;
    forEachColumn<Row>([&](const auto& column) {
        if (there[place++]) cell::read(statement, cell++, column.of(row));
    });
    return row;
}

/// All rows; none of a table that the file's version does not have.
template <TableRow Row>
[[nodiscard]] Result<std::vector<Row>> readRows(Connection& connection) {
    std::vector<Row> rows;
    if (kTable<Row>.since > 0) {
        const auto there = connection.hasTable(kTable<Row>.name);
        if (!there) return failure(there);
        if (!*there) return rows;
    }
    const auto there = columnsThere<Row>(connection);
    if (!there) return failure(there);
    auto select = connection.prepare(selectSql<Row>(*there));
    if (!select) return failure(select);
    while (true) {
        auto more = select->step();
        if (!more) return failure(more);
        if (!*more) return rows;
        rows.push_back(rowOf<Row>(*select, *there));
    }
}

}  // namespace shardscope::storage
