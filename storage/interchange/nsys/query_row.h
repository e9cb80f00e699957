// Cells of a row that may be of any type, whatever the column says.
#pragma once

#include "storage/sqlite/statement.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace shardscope::interchange::nsys {

class QueryRow {
public:
    explicit QueryRow(const storage::Statement& statement) : m_statement(&statement) {}

    [[nodiscard]] std::optional<std::int64_t> integer(int column) {
        switch (m_statement->type(column)) {
            case storage::Statement::Type::kInteger:
                return m_statement->integer(column);
            case storage::Statement::Type::kNull:
                return std::nullopt;
            default:
                return wrong<std::int64_t>();
        }
    }
    [[nodiscard]] std::optional<double> real(int column) {
        const auto type = m_statement->type(column);
        if (type == storage::Statement::Type::kNull) return std::nullopt;
        if (type != storage::Statement::Type::kReal && type != storage::Statement::Type::kInteger)
            return wrong<double>();
        const double value = m_statement->real(column);
        return std::isfinite(value) ? std::optional(value) : wrong<double>();
    }
    /// Valid until the next row.
    [[nodiscard]] std::optional<std::string_view> text(int column) {
        const auto type = m_statement->type(column);
        if (type == storage::Statement::Type::kNull) return std::nullopt;
        if (type != storage::Statement::Type::kText) return wrong<std::string_view>();
        return m_statement->text(column);
    }
    [[nodiscard]] bool isNull(int column) const { return m_statement->isNull(column); }
    /// Some cell asked for held what its column cannot.
    [[nodiscard]] bool anyWrong() const { return m_wrong; }

private:
    template <class T>
    std::optional<T> wrong() {
        m_wrong = true;
        return std::nullopt;
    }
    const storage::Statement* m_statement;
    bool m_wrong = false;
};

}  // namespace shardscope::interchange::nsys
