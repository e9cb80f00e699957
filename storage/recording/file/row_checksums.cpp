#include "storage/recording/file/row_checksums.h"

#include "storage/columns/crc32c.h"
#include "storage/recording/file/collective_bounds.h"

#include <bit>
#include <charconv>
#include <string>
#include <vector>

namespace shardscope::storage {
namespace {

constexpr std::string_view kKeyFront = "checksum.";
/// Blobs that have a checksum within.
constexpr std::string_view kOwnChecksum = "data";

/// Of a table: how many rows, and the sum of their CRCs, which goes by no order.
struct Checksum {
    std::uint64_t rows = 0;
    std::uint64_t sum = 0;
};

void putBytes(std::vector<std::byte>& row, const void* bytes, std::size_t count) {
    const auto* begin = static_cast<const std::byte*>(bytes);
    row.insert(row.end(), begin, begin + count);
}

template <class Number>
void putNumber(std::vector<std::byte>& row, Number number) {
    static_assert(std::endian::native == std::endian::little, "the file is little-endian");
    putBytes(row, &number, sizeof number);
}

/// A byte for the type, then the value: 8 bytes, or a length of 4 and so many bytes.
void putCell(std::vector<std::byte>& row, const Statement& select, int column) {
    const Statement::Type type = select.type(column);
    const auto tag = [&](unsigned char code) { row.push_back(std::byte{code}); };
    switch (type) {
        case Statement::Type::kNull:
            return tag(0);
        case Statement::Type::kInteger:
            tag(1);
            return putNumber(row, select.integer(column));
        case Statement::Type::kReal:
            tag(2);
            return putNumber(row, select.real(column));
        case Statement::Type::kText: {
            tag(3);
            const std::string_view text = select.text(column);
            putNumber(row, static_cast<std::uint32_t>(text.size()));
            return putBytes(row, text.data(), text.size());
        }
        case Statement::Type::kBlob: {
            tag(4);
            const auto blob = select.blob(column);
            putNumber(row, static_cast<std::uint32_t>(blob.size()));
            return putBytes(row, blob.data(), blob.size());
        }
    }
}

std::string quotedName(std::string_view name) {
    std::string text(1, '"');
    for (const char c : name) text.append(c == '"' ? 2 : 1, c);
    text.push_back('"');
    return text;
}

Result<std::string> columnsOf(Connection& connection, const std::string& table) {
    const auto names = connection.columnsOf(table);
    if (!names) return failure(names);
    std::string columns;
    for (const std::string& name : *names)
        if (name != kOwnChecksum) columns.append(columns.empty() ? "" : ",").append(quotedName(name));
    return columns;
}

/// The rows of a table that its checksum is of.
std::string rowsOf(const std::string& table) {
    const char* but = table == "meta" ? " WHERE key NOT LIKE 'checksum.%'" : "";
    return " FROM main." + quotedName(table) + but;
}

Result<Checksum> checksumOf(Connection& connection, const std::string& table) {
    auto columns = columnsOf(connection, table);
    if (!columns) return failure(columns);
    if (columns->empty())
        return failure(ErrorCode::kUnreadable, "the table " + table + " is missing");
    auto select = connection.prepare("SELECT " + *columns + rowsOf(table));
    if (!select) return failure(select);
    Checksum checksum;
    std::vector<std::byte> row;
    while (true) {
        auto more = select->step();
        if (!more) return failure(more);
        if (!*more) return checksum;
        row.clear();
        for (int column = 0; column < select->columnCount(); ++column)
            putCell(row, *select, column);
        ++checksum.rows;
        checksum.sum += columns::crc32c(row);
    }
}

Result<std::vector<std::string>> tablesOf(Connection& connection) {
    auto select = connection.prepare(
        "SELECT name FROM main.sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'");
    if (!select) return failure(select);
    std::vector<std::string> tables;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return tables;
        tables.emplace_back(select->text(0));
    }
}

std::string textOf(const Checksum& checksum) {
    return std::to_string(checksum.rows).append(" ").append(std::to_string(checksum.sum));
}

struct StoredChecksum {
    std::string table;
    std::string value;  ///< as textOf() makes it
    [[nodiscard]] std::uint64_t rows() const {
        std::uint64_t count = 0;
        std::from_chars(value.data(), value.data() + value.size(), count);
        return count;
    }
};

Result<std::vector<StoredChecksum>> storedChecksums(Connection& connection) {
    auto select = connection.prepare(
        "SELECT key, value FROM main.meta WHERE key LIKE 'checksum.%' ORDER BY 1");
    if (!select) return failure(select);
    std::vector<StoredChecksum> stored;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return stored;
        stored.push_back(
            {std::string(select->text(0).substr(kKeyFront.size())), std::string(select->text(1))});
    }
}

Result<std::uint64_t> countRows(Connection& connection, const std::string& table) {
    auto select = connection.prepare("SELECT count(*)" + rowsOf(table));
    if (!select) return failure(select);
    auto row = select->step();
    if (!row) return failure(row);
    return static_cast<std::uint64_t>(select->integer(0));
}

}  // namespace

Result<std::vector<LostRows>> lostRows(Connection& connection,
                                       const std::map<std::string, std::uint64_t>& known) {
    const auto stored = storedChecksums(connection);
    if (!stored) return failure(stored);
    std::vector<LostRows> lost;
    for (const StoredChecksum& checksum : *stored) {
        const auto counted = known.find(checksum.table);
        // A table that cannot be read has no rows.
        const std::uint64_t found = counted != known.end()
                                        ? counted->second
                                        : countRows(connection, checksum.table).value_or(0);
        if (found != checksum.rows()) lost.push_back({checksum.table, checksum.rows(), found});
    }
    return lost;
}

Result<void> sealRows(Connection& connection) {
    if (auto stored = storeCollectiveBounds(connection); !stored) return stored;
    auto tables = tablesOf(connection);
    auto insert = connection.prepare("INSERT OR REPLACE INTO meta VALUES(?1, ?2)");
    if (!tables || !insert) return tables ? failure(insert) : failure(tables);
    for (const std::string& table : *tables) {
        const auto checksum = checksumOf(connection, table);
        if (!checksum) return failure(checksum);
        const std::string key = std::string(kKeyFront).append(table), value = textOf(*checksum);
        auto done = insert->bind(1, std::string_view(key)).bind(2, std::string_view(value)).run();
        if (!done) return done;
    }
    return {};
}

Result<std::vector<CheckedTable>> checkRowChecksums(Connection& connection) {
    const auto stored = storedChecksums(connection);
    if (!stored) return failure(stored);
    std::vector<CheckedTable> tables;
    for (const auto& [table, value] : *stored) {
        const auto checksum = checksumOf(connection, table);
        tables.push_back({table, checksum && textOf(*checksum) == value,
                          checksum ? std::string() : checksum.error().message});
    }
    return tables;
}

}  // namespace shardscope::storage
