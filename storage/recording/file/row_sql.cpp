#include "storage/recording/file/row_sql.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace shardscope::storage {
namespace {

std::string listOf(const std::vector<Field>& columns) {
    std::string list;
    for (const Field& column : columns) list.append(list.empty() ? "" : ", ").append(column.name);
    return list;
}

/// What has no word in any enumeration.
std::int64_t noEnumerator(const Shape& shape) {
    return withNumber(shape.kind, []<class T>(Of<T>) {
        return static_cast<std::int64_t>(std::numeric_limits<T>::max());
    });
}

void read(const Statement& row, int column, const Shape& shape, void* at) {
    if (shape.kind == Shape::Kind::kOptional) {
        shape.reset(at);
        if (!row.isNull(column)) read(row, column, *shape.of, shape.emplace(at));
    } else if (shape.kind == Shape::Kind::kText) {
        *static_cast<std::string*>(at) = row.text(column);
    } else if (shape.isReal()) {
        constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
        setReal(shape, at, row.isNull(column) ? kNone : row.real(column));
    } else {
        const std::int64_t number = row.integer(column);
        const bool isNone = shape.isEnum && !shape.isValue(number);
        setInteger(shape, at, isNone ? noEnumerator(shape) : number);
    }
}

Result<std::vector<Field>> columnsThere(Connection& connection, const Table& table) {
    const auto found = connection.columnsOf(table.name);
    if (!found) return failure(found);
    std::vector<Field> there;
    for (const Field& column : table.columns.list)
        if (!column.later || std::find(found->begin(), found->end(), column.name) != found->end())
            there.push_back(column);
    return there;
}

}  // namespace

std::string columnList(const Table& table) {
    return listOf(table.columns.list);
}

std::string insertSql(const Table& table, const std::string& verb) {
    std::string marks = "?";
    for (std::size_t i = 1; i < table.columns.list.size(); ++i) marks += ",?";
    return verb + " INTO " + table.name + "(" + columnList(table) + ") VALUES(" + marks + ")";
}

namespace cell {

void bind(Statement& statement, int index, const Shape& shape, const void* at) {
    if (shape.kind == Shape::Kind::kOptional) {
        const void* value = shape.valueIn(const_cast<void*>(at));
        if (value != nullptr)
            bind(statement, index, *shape.of, value);
        else
            statement.bind(index, std::nullopt);
    } else if (shape.kind == Shape::Kind::kText) {
        statement.bind(index, std::string_view(*static_cast<const std::string*>(at)));
    } else if (!shape.isReal()) {
        statement.bind(index, integerAt(shape, at));
    } else if (const double real = realAt(shape, at); std::isnan(real)) {
        statement.bind(index, std::nullopt);
    } else {
        statement.bind(index, real);
    }
}

void bindAll(Statement& statement, const Table& table, const void* row, int first) {
    for (const Field& column : table.columns.list)
        bind(statement, first++, *column.shape, column.in(row));
}

Result<std::optional<Statement>> select(Connection& connection, const Table& table,
                                        Columns& columns) {
    if (table.since > 0) {
        const auto there = connection.hasTable(table.name);
        if (!there) return failure(there);
        if (!*there) return std::nullopt;
    }
    auto there = columnsThere(connection, table);
    if (!there) return failure(there);
    columns = std::move(*there);
    const std::string order = table.order;
    auto select = connection.prepare("SELECT " + listOf(columns) + " FROM " + table.name +
                                     (order.empty() ? "" : " ORDER BY " + order));
    if (!select) return failure(select);
    return std::optional(std::move(*select));
}

void readInto(void* row, const Statement& statement, const Columns& columns, int first) {
    for (const Field& column : columns) read(statement, first++, *column.shape, column.in(row));
}

}  // namespace cell
}  // namespace shardscope::storage
