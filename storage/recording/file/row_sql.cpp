#include "storage/recording/file/row_sql.h"

#include "storage/recording/file/memory_tally.h"
#include "storage/recording/file/packed_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
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

/// After the struct's columns come those of its peak.
const int kPeak = columnCount(tableOf<DetailFacts>());
const int kAllColumns = kPeak + 3;

std::string allColumns() {
    return columnList(tableOf<DetailFacts>()) + ", " + tableOf<DetailFacts>().more;
}

DetailFacts factsOf(const Statement& row) {
    auto facts = rowOf<DetailFacts>(row);
    if (!row.isNull(kPeak + 1))
        facts.peak = MemoryPeak{{row.integer(kPeak)},
                                {row.integer(kPeak + 1)},
                                MemoryTally::fromBlob(row.blob(kPeak + 2))};
    return facts;
}

void bindFacts(Statement& statement, const DetailFacts& detail, std::vector<std::byte>& peak) {
    bindRow(statement, detail);
    if (!detail.peak) {
        for (int column = kPeak; column < kAllColumns; ++column)
            statement.bind(column + 1, std::nullopt);
        return;
    }
    peak = MemoryTally::toBlob(detail.peak->byCategory);
    statement.bind(kPeak + 1, detail.peak->time.ns)
        .bind(kPeak + 2, detail.peak->size.count)
        .bind(kPeak + 3, std::span<const std::byte>(peak));
}

/// `into` and what goes on where it ends.
void join(DetailFacts& into, const DetailFacts& next) {
    into.last = std::max(into.last, next.last);
    into.range = {std::min(into.range.begin, next.range.begin),
                  std::max(into.range.end, next.range.end)};
    into.removed =
        into.removed && next.removed ? std::optional(*into.removed + *next.removed) : std::nullopt;
    if (next.peak && (!into.peak || next.peak->size > into.peak->size)) into.peak = next.peak;
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

namespace {

void take(const columns::TableColumn& cells, std::size_t row, const Shape& shape, void* at) {
    const bool isNone = cells.types[row] == columns::CellType::kNull;
    const std::int64_t value = cells.values[row];
    if (shape.kind == Shape::Kind::kText) {
        *static_cast<std::string*>(at) =
            isNone ? std::string() : cells.texts[static_cast<std::size_t>(value)];
    } else if (shape.isReal()) {
        constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
        setReal(shape, at, isNone ? kNone : std::bit_cast<double>(value));
    } else {
        setInteger(shape, at, shape.isEnum && !shape.isValue(value) ? noEnumerator(shape) : value);
    }
}

/// Column after column; a column that the copies do not have keeps its default.
void takeAll(const columns::RowTable& copies, const Table& table, const Rows& rows) {
    for (const Field& field : table.columns.list) {
        const auto cells =
            std::find_if(copies.columns.begin(), copies.columns.end(),
                         [&](const columns::TableColumn& each) { return each.name == field.name; });
        if (cells == copies.columns.end()) continue;
        for (std::size_t row = 0; row < copies.count; ++row)
            take(*cells, row, *field.shape,
                 field.in(static_cast<std::byte*>(rows.first) + row * rows.bytes));
    }
}

/// Whether each column has cells of the type that its member takes.
bool fits(const columns::RowTable& copies, const Table& table) {
    using columns::CellType;
    for (const Field& field : table.columns.list) {
        const Shape& shape = *field.shape;
        if (shape.kind == Shape::Kind::kOptional) return false;
        const CellType wanted = shape.kind == Shape::Kind::kText ? CellType::kText
                                : shape.isReal()                 ? CellType::kReal
                                                                 : CellType::kInteger;
        for (const columns::TableColumn& cells : copies.columns)
            if (cells.name == field.name &&
                !std::all_of(cells.types.begin(), cells.types.end(), [&](CellType type) {
                    return type == wanted ||
                           (type == CellType::kNull && wanted != CellType::kInteger);
                }))
                return false;
    }
    return true;
}

}  // namespace

Result<bool> readCopies(Connection& connection, const Table& table,
                        const std::function<Rows(std::size_t count)>& make) {
    const auto copies = storage::readCopies(connection, table.name);
    if (!copies) return failure(copies);
    std::size_t count = 0;
    for (const columns::RowTable& each : *copies) {
        if (!fits(each, table)) return false;
        count += each.count;
    }
    if (count == 0) return false;
    const Rows all = make(count);
    auto* next = static_cast<std::byte*>(all.first);
    for (const columns::RowTable& each : *copies) {
        takeAll(each, table, {next, all.bytes});
        next += each.count * all.bytes;
    }
    return true;
}

void readInto(void* row, const Statement& statement, const Columns& columns, int first) {
    for (const Field& column : columns) read(statement, first++, *column.shape, column.in(row));
}

}  // namespace cell

Result<std::vector<DetailFacts>> readDetail(Connection& connection) {
    std::vector<DetailFacts> rows;
    const auto there = connection.hasTable("detail");
    if (!there) return failure(there);
    if (!*there) return rows;
    auto select = connection.prepare("SELECT " + allColumns() + " FROM detail ORDER BY " +
                                     tableOf<DetailFacts>().order);
    if (!select) return failure(select);
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return rows;
        rows.push_back(factsOf(*select));
    }
}

Result<void> putDetail(Connection& connection, const DetailFacts& detail) {
    auto find = connection.prepare("SELECT " + allColumns() +
                                   ", id FROM detail WHERE rank=? AND level=? AND reason=?"
                                   " ORDER BY id DESC LIMIT 1");
    if (!find) return failure(find);
    auto row = find->bind(1, std::int64_t{detail.rank.value})
                   .bind(2, static_cast<std::int64_t>(detail.level))
                   .bind(3, static_cast<std::int64_t>(detail.reason))
                   .step();
    if (!row) return failure(row);
    DetailFacts joined = detail;
    std::optional<std::int64_t> id;
    if (*row) {
        const DetailFacts before = factsOf(*find);
        if (detail.first >= before.first &&
            detail.first.value <= std::int64_t{before.last.value} + 1) {
            joined = before;
            join(joined, detail);
            id = find->integer(kAllColumns);
        }
    }
    auto put = connection.prepare("INSERT OR REPLACE INTO detail(" + allColumns() +
                                  ", id) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)");
    if (!put) return failure(put);
    std::vector<std::byte> peak;
    bindFacts(*put, joined, peak);
    return put->bind(kAllColumns + 1, id).run();
}

Result<void> countLateRemovals(Connection& connection, RankId rank, std::uint64_t events) {
    auto update = connection.prepare(
        "UPDATE detail SET removed = removed + ?2 WHERE id ="
        " (SELECT max(id) FROM detail WHERE rank = ?1 AND reason IN (3, 4))");
    if (!update) return failure(update);
    return update->bind(1, std::int64_t{rank.value})
        .bind(2, static_cast<std::int64_t>(events))
        .run();
}

Result<std::int64_t> thinningState(Connection& connection) {
    const auto there = connection.hasTable("detail");
    if (!there) return failure(there);
    if (!*there) return 0;
    return connection.integer(
        "SELECT coalesce(sum(end_ns), 0) + count(*) FROM detail WHERE reason IN (3, 4)");
}

}  // namespace shardscope::storage
