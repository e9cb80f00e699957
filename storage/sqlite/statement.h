// One prepared SQL statement. Belongs to its Connection's thread and must not outlive it.
#pragma once

#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct sqlite3_stmt;

namespace shardscope::storage {

class Statement {
public:
    /// Parameters count from 1. Text and blobs must live until the next run() or step() returns.
    Statement& bind(int index, std::int64_t value);
    Statement& bind(int index, double value);
    Statement& bind(int index, std::string_view value);
    Statement& bind(int index, std::span<const std::byte> value);
    Statement& bind(int index, std::nullopt_t);
    /// The value of a column of another statement's row, whatever its type.
    Statement& bindColumn(int index, const Statement& row, int column);
    template <class T>
    Statement& bind(int index, const std::optional<T>& value) {
        if (!value) return bind(index, std::nullopt);
        if constexpr (std::is_integral_v<T>)
            return bind(index, static_cast<std::int64_t>(*value));
        else
            return bind(index, *value);
    }

    /// True when a row is ready, false at the end (the statement is then ready to run again).
    Result<bool> step();
    /// Runs a statement that gives no rows, and makes it ready to run again.
    Result<void> run();
    void reset();

    /// Columns count from 0; views are valid until the next step().
    [[nodiscard]] int columnCount() const;
    [[nodiscard]] std::string columnName(int column) const;
    enum class Type { kInteger, kReal, kText, kBlob, kNull };
    [[nodiscard]] Type type(int column) const;
    [[nodiscard]] bool isNull(int column) const;
    [[nodiscard]] std::int64_t integer(int column) const;
    [[nodiscard]] double real(int column) const;
    [[nodiscard]] std::string_view text(int column) const;
    [[nodiscard]] std::span<const std::byte> blob(int column) const;

private:
    friend class Connection;
    struct Finalizer {
        void operator()(sqlite3_stmt* statement) const;
    };
    Statement(sqlite3_stmt* statement, std::shared_ptr<const std::string> path)
        : m_statement(statement), m_path(std::move(path)) {}

    std::unique_ptr<sqlite3_stmt, Finalizer> m_statement;
    std::shared_ptr<const std::string> m_path;
};

}  // namespace shardscope::storage
