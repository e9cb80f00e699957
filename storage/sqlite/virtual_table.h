// Read-only virtual tables: a C++ source of rows under a name in SQL.
//
// Constraints are only a hint to skip work: SQLite checks every row again.
#pragma once

#include "storage/model/result.h"
#include "storage/sqlite/connection.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shardscope::storage {

using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string_view>;

enum class Comparison : std::uint8_t { kEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };

/// `column comparison value`, value an integer or a text.
struct ColumnConstraint {
    int column = 0;
    Comparison comparison = Comparison::kEqual;
    std::variant<std::int64_t, std::string> value;
};

class RowCursor {
public:
    virtual ~RowCursor() = default;
    /// Moves to the first, then each next row; false at the end.
    virtual Result<bool> next() = 0;
    /// Valid until next().
    [[nodiscard]] virtual SqlValue value(int column) const = 0;
    /// The same row has the same id in every scan: SQLite tells rows apart by it.
    [[nodiscard]] virtual std::int64_t rowId() const = 0;
};

class RowSource {
public:
    virtual ~RowSource() = default;
    /// Column declarations, separated by commas.
    [[nodiscard]] virtual std::string declaration() const = 0;
    /// Whether scan() makes use of constraints on a column.
    [[nodiscard]] virtual bool usesConstraintsOn(int column) const = 0;
    virtual Result<std::unique_ptr<RowCursor>> scan(std::vector<ColumnConstraint> constraints) = 0;
};

/// Makes `source` a table of this connection, which keeps it until it closes.
Result<void> addVirtualTable(Connection& connection, const std::string& name,
                             std::unique_ptr<RowSource> source);

}  // namespace shardscope::storage
