#include "storage/recording/file/recording_file.h"
#include "storage/recording/read/events_table.h"
#include "storage/recording/read/local_reader.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <span>

namespace shardscope::storage {
namespace {

/// As SQL writes a blob: x'0aff'. Its bytes are no text, and JSON has no others.
std::string blobText(std::span<const std::byte> bytes) {
    constexpr const char* kHex = "0123456789abcdef";
    std::string text = "x'";
    for (const std::byte byte : bytes) {
        text += kHex[std::to_integer<unsigned>(byte) >> 4];
        text += kHex[std::to_integer<unsigned>(byte) & 15U];
    }
    return text + "'";
}

std::optional<std::string> cellText(const Statement& row, int column) {
    const Statement::Type type = row.type(column);
    if (type == Statement::Type::kNull) return std::nullopt;
    if (type == Statement::Type::kBlob) return blobText(row.blob(column));
    std::string text(row.text(column));
    if (type != Statement::Type::kReal) return text;
    // SQLite writes 15 digits; where these are not enough, as many as it takes.
    const double value = row.real(column);
    double read = 0;
    std::from_chars(text.data(), text.data() + text.size(), read);
    if (read == value || !std::isfinite(value)) return text;
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return std::string(digits.data(), end);
}

TableResult::CellType cellType(const Statement& row, int column) {
    switch (row.type(column)) {
        case Statement::Type::kNull:
            return TableResult::CellType::kNull;
        case Statement::Type::kInteger:
            return TableResult::CellType::kInteger;
        case Statement::Type::kReal:
            return TableResult::CellType::kReal;
        default:
            return TableResult::CellType::kText;
    }
}

}  // namespace

Result<TableResult> LocalReader::runQuery(const SqlQuery& asked) {
    // A connection of its own: the authorizer and the views are nothing for other calls.
    auto connection = openReadingConnection(m_path);
    if (!connection) return failure(connection);
    // Chunks as one state of the file has them, also while its writer goes on.
    if (auto begun = connection->execute("BEGIN"); !begun) return failure(begun);
    if (auto refreshed = m_events.refresh(*connection); !refreshed) return failure(refreshed);
    if (auto added = addEventsTable(*connection, m_events); !added) return failure(added);
    connection->refuseWrites();
    connection->stopWhen([generation = asked.generation] { return generation.superseded(); });
    const auto explained = [&](const Error& error) {
        if (asked.generation.superseded())
            return failure(ErrorCode::kCancelled, "the query was cancelled");
        if (const auto fault = connection->sqlFault())
            return failure(ErrorCode::kUsage, "SQL: " + *fault);
        return failure(error.code, "SQL: " + error.message);
    };
    auto statement = connection->prepare(asked.sql);
    if (!statement) return explained(statement.error());
    TableResult table;
    for (int column = 0; column < statement->columnCount(); ++column)
        table.columns.push_back(statement->columnName(column));
    while (true) {
        auto row = statement->step();
        if (!row) return explained(row.error());
        if (!*row) return table;
        table.cut = asked.mostRows > 0 && table.rows.size() == asked.mostRows;
        if (table.cut) return table;
        auto& cells = table.rows.emplace_back();
        auto& types = table.types.emplace_back();
        for (int column = 0; column < statement->columnCount(); ++column) {
            types.push_back(cellType(*statement, column));
            cells.push_back(cellText(*statement, column));
        }
    }
}

}  // namespace shardscope::storage
