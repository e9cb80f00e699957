// The columns of the SQL table `events`, in the order in which it declares them (FORMAT.md).
#pragma once

#include "storage/sqlite/connection.h"

#include <array>
#include <cstddef>
#include <string>
#include <utility>

namespace shardscope::storage {

struct EventColumn {
    enum Index : int {
        kKind,
        kRank,
        kLane,
        kLaneName,
        kRole,
        kName,
        kStart,
        kDuration,
        kEnd,
        kStep,
        kLayer,
        kPhase,
        kDepth,
        kCorrelation,
        kAction,
        kSize,
        kCategory,
        kAddress,
        kValue,
        kArguments,
        kScope,
        kPoint,
        kSpanStart
    };
};

/// What each of them is declared as.
inline constexpr std::array kEventColumns{
    std::pair{EventColumn::kKind, "kind TEXT"},
    std::pair{EventColumn::kRank, "rank INTEGER"},
    std::pair{EventColumn::kLane, "lane INTEGER"},
    std::pair{EventColumn::kLaneName, "lane_name TEXT"},
    std::pair{EventColumn::kRole, "role TEXT"},
    std::pair{EventColumn::kName, "name TEXT"},
    std::pair{EventColumn::kStart, "start_ns INTEGER"},
    std::pair{EventColumn::kDuration, "duration_ns INTEGER"},
    std::pair{EventColumn::kEnd, "end_ns INTEGER"},
    std::pair{EventColumn::kStep, "step INTEGER"},
    std::pair{EventColumn::kLayer, "layer INTEGER"},
    std::pair{EventColumn::kPhase, "phase TEXT"},
    std::pair{EventColumn::kDepth, "depth INTEGER"},
    std::pair{EventColumn::kCorrelation, "correlation INTEGER"},
    std::pair{EventColumn::kAction, "action TEXT"},
    std::pair{EventColumn::kSize, "size_bytes INTEGER"},
    std::pair{EventColumn::kCategory, "category TEXT"},
    std::pair{EventColumn::kAddress, "address INTEGER"},
    std::pair{EventColumn::kValue, "value REAL"},
    std::pair{EventColumn::kArguments, "arguments TEXT"},
    std::pair{EventColumn::kScope, "scope TEXT"},
    std::pair{EventColumn::kPoint, "point TEXT"},
    std::pair{EventColumn::kSpanStart, "span_start_ns INTEGER"},
};

namespace event_columns {

constexpr bool standWhereTheyAreNumbered() {
    for (std::size_t at = 0; at < kEventColumns.size(); ++at)
        if (static_cast<std::size_t>(kEventColumns[at].first) != at) return false;
    return kEventColumns.size() == std::size_t{EventColumn::kSpanStart} + 1;
}
static_assert(standWhereTheyAreNumbered(), "SQLite knows columns by their positions");

}  // namespace event_columns

/// "kind TEXT, rank INTEGER, ..."
[[nodiscard]] inline std::string eventColumnDeclaration() {
    std::string all;
    for (const auto& [column, text] : kEventColumns)
        all.append(all.empty() ? "" : ", ").append(text);
    return all;
}

// The views on the table `events`, and tables that a file keeps as columns, for SQL of users.

/// Of a connection that has the table `events` and may make temporary tables. They live in the
/// connection, not in the file; called again, they look where the rows are by now.
Result<void> addEventViews(Connection& connection);

}  // namespace shardscope::storage
