// A table of a recording whose rows are a struct, declared once. Beside the struct stands
//
//   constexpr auto tableOf(RowsOf<MetricPoint>) {
//       return table<MetricPoint>({.name = "metrics", .order = "time_ns, rowid"},
//                                 column("name", &MetricPoint::name), ...);
//   }
//
// with a column for each member that is stored, in the order of the .sql files. What inserts,
// selects, sends, checks and repairs such rows follows from it (storage/recording/file/row_sql.h,
// engine/run/protocol/messages.cpp); a test holds it against the .sql files and FORMAT.md.
#pragma once

#include "storage/model/events.h"

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace shardscope {

template <class Row>
using RowsOf = std::type_identity<Row>;

/// What a member is as a whole number: ids, times, sizes, enumerators and numbers themselves.
template <class T>
[[nodiscard]] constexpr auto& numberIn(T& value) {
    if constexpr (requires { value.value; })
        return value.value;
    else if constexpr (requires { value.ns; })
        return value.ns;
    else if constexpr (requires { value.count; })
        return value.count;
    else
        return value;
}
template <class T>
inline constexpr bool kIsNumber = std::is_integral_v<T> || std::is_enum_v<T>;

/// A column and the member that it holds, which may be a member of a member.
template <class Row, class... Path>
struct Column {
    const char* name = "";
    std::tuple<Path...> path;
    bool later = false;  ///< files of earlier formats lack it: their rows keep the member's default

    [[nodiscard]] constexpr decltype(auto) of(Row& row) const { return follow(row); }
    [[nodiscard]] constexpr decltype(auto) of(const Row& row) const { return follow(row); }

private:
    template <class Of>
    [[nodiscard]] constexpr auto& follow(Of& row) const {
        return std::apply(
            [&](auto... member) -> auto& { return (row.*....*member); }, path);
    }
};

template <class Row, class Member, class... Rest>
[[nodiscard]] constexpr auto column(const char* name, Member Row::*first, Rest... rest) {
    return Column<Row, Member Row::*, Rest...>{name, {first, rest...}};
}

/// A column that a format added to a table of earlier ones.
template <class Row, class... Path>
[[nodiscard]] constexpr auto later(Column<Row, Path...> added) {
    added.later = true;
    return added;
}

struct TableFacts {
    const char* name = "";
    const char* order = "";  ///< in which its rows are read
    /// Column by whose values a damaged table is read piece by piece; of one rank at a time where
    /// that comes first in its primary key.
    const char* key = "rowid";
    bool keyedByRank = false;
    int since = 0;          ///< not 0: files of earlier formats lack it
    const char* more = "";  ///< columns after those of the struct, which it does not have
    /// What a row is called in sentences, with the values of columns: "step {step} of rank {rank}".
    const char* row = "";
};

template <class Row, class... Columns>
struct Table : TableFacts {
    std::tuple<Columns...> columns;
};

template <class Row, class... Columns>
[[nodiscard]] constexpr auto table(const TableFacts& facts, Columns... columns) {
    return Table<Row, Columns...>{facts, {columns...}};
}

template <class Row>
concept TableRow = requires {
    tableOf(RowsOf<Row>{});
};

template <TableRow Row>
inline constexpr auto kTable = tableOf(RowsOf<Row>{});

template <TableRow Row>
inline constexpr int kColumnCount =
    static_cast<int>(std::tuple_size_v<decltype(kTable<Row>.columns)>);

/// Calls `use` with each column, in order.
template <TableRow Row, class Use>
constexpr void forEachColumn(Use use) {
    std::apply([&](const auto&... column) { (use(column), ...); }, kTable<Row>.columns);
}

}  // namespace shardscope
