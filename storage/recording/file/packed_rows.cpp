#include "storage/recording/file/packed_rows.h"

#include "storage/model/recording_tables.h"
#include "storage/model/step_facts.h"
#include "storage/schema/migrations.h"
#include "storage/sqlite/sqlite_error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>

namespace shardscope::storage {
namespace {

using columns::CellType;
using columns::RowTable;
using columns::TableColumn;

/// Of one table.
constexpr std::int64_t kMostRows = 1'000'000;
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;
/// A blob ends with the row that reaches so much text; no row may have more than the rest.
constexpr std::size_t kEnoughText = columns::kMostTextBytes / 2;
constexpr std::int64_t kMostOfARow = kEnoughText - 65'536;

CellType cellType(Statement::Type type) {
    switch (type) {
        case Statement::Type::kNull:
            return CellType::kNull;
        case Statement::Type::kInteger:
            return CellType::kInteger;
        case Statement::Type::kReal:
            return CellType::kReal;
        case Statement::Type::kText:
            return CellType::kText;
        case Statement::Type::kBlob:
            break;
    }
    return CellType::kBlob;
}

std::string_view bytesOf(std::span<const std::byte> blob) {
    return {reinterpret_cast<const char*>(blob.data()), blob.size()};
}

/// Gathers rows until they make a blob.
class RowPacker {
public:
    void add(const Statement& row) {
        if (m_table.columns.empty()) begin(row);
        for (int i = 0; i < row.columnCount(); ++i) addCell(static_cast<std::size_t>(i), row);
        ++m_table.count;
    }
    [[nodiscard]] bool isFull() const {
        return m_table.count == columns::kMostPackedRows || m_textBytes >= kEnoughText;
    }
    [[nodiscard]] bool isEmpty() const { return m_table.count == 0; }
    RowTable take() {
        m_texts.clear();
        m_textBytes = 0;
        return std::exchange(m_table, {});
    }

private:
    void begin(const Statement& row) {
        for (int i = 0; i < row.columnCount(); ++i)
            m_table.columns.push_back({row.columnName(i), {}, {}, {}});
        m_texts.resize(m_table.columns.size());
    }
    void addCell(std::size_t at, const Statement& row) {
        TableColumn& column = m_table.columns[at];
        const int index = static_cast<int>(at);
        const CellType type = cellType(row.type(index));
        column.types.push_back(type);
        if (type == CellType::kInteger) return column.values.push_back(row.integer(index));
        if (type == CellType::kReal)
            return column.values.push_back(std::bit_cast<std::int64_t>(row.real(index)));
        if (type == CellType::kNull) return column.values.push_back(0);
        const std::string text(type == CellType::kText ? row.text(index)
                                                       : bytesOf(row.blob(index)));
        m_textBytes += text.size();
        const auto [known, added] = m_texts[at].try_emplace(text, std::ssize(column.texts));
        if (added) column.texts.push_back(text);
        column.values.push_back(known->second);
    }

    RowTable m_table;
    std::vector<std::unordered_map<std::string, std::int64_t>> m_texts;  ///< by column
    std::size_t m_textBytes = 0;
};

Result<void> storePacked(Connection& connection, const char* name, const RowTable& rows) {
    auto insert =
        connection.prepare("INSERT INTO packed(name, count, bytes, data) VALUES(?,?,?,?)");
    if (!insert) return failure(insert);
    const auto blob = columns::encodeRows(rows);
    // The rows themselves go: nothing may hang on a mistake in here.
    if (const auto again = columns::decodeRows(blob); !again || *again != rows)
        return failure(ErrorCode::kFailure, std::string("packed rows of ") + name +
                                                " are not what they were: please report this");
    return insert->bind(1, std::string_view(name))
        .bind(2, static_cast<std::int64_t>(rows.count))
        .bind(3, std::ssize(blob))
        .bind(4, std::span<const std::byte>(blob))
        .run();
}

Result<void> storeAll(Connection& connection, const char* table, const char* order) {
    auto select =
        connection.prepare(std::string("SELECT * FROM main.") + table + " ORDER BY " + order);
    if (!select) return failure(select);
    RowPacker packer;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (*row) packer.add(*select);
        if (packer.isFull() || (!*row && !packer.isEmpty()))
            if (auto stored = storePacked(connection, table, packer.take()); !stored) return stored;
        if (!*row) return {};
    }
}

/// Copies are in the order in which the rows are read.
std::array<const Table*, 2> copiedTables() {
    return {&tableOf<StepFacts>(), &tableOf<MetricPoint>()};
}

Result<void> removeCopiesOnChange(Connection& connection, const std::string& table) {
    for (const std::string change : {"INSERT", "UPDATE", "DELETE"}) {
        auto made = connection.execute("CREATE TRIGGER " + table + "_copies_" + change + " AFTER " +
                                       change + " ON " + table +
                                       " BEGIN DELETE FROM packed WHERE name='" + table + "'; END");
        if (!made) return made;
    }
    return {};
}

/// Whether it has rows, and not more than a reader unpacks in passing.
Result<bool> isWorthPacking(Connection& connection, const PackedTable& table) {
    const std::string from = std::string(" FROM main.") + table.name;
    const auto rows = connection.integer("SELECT count(*)" + from);
    if (!rows) return failure(rows);
    if (*rows == 0 || *rows > kMostRows) return false;
    const std::string length = std::string("(length(CAST(") + table.large + " AS BLOB)))" + from;
    const auto bytes = connection.integer("SELECT sum" + length);
    const auto largest = connection.integer("SELECT max" + length);
    if (!bytes || !largest) return failure(bytes ? largest : bytes);
    return *bytes <= kMostBytes && *largest <= kMostOfARow;
}

Result<void> packTable(Connection& connection, const PackedTable& table) {
    const std::string name(table.name);
    const auto there = connection.hasTable(name);
    if (!there) return failure(there);
    if (!*there) return {};
    const auto worth = isWorthPacking(connection, table);
    if (!worth) return failure(worth);
    if (!*worth) return {};
    if (auto stored = storeAll(connection, table.name, table.key); !stored) return stored;
    // An empty table would pass for one without rows with everybody who does not look here.
    return connection.execute("DROP TABLE main." + name);
}

void bindCell(Statement& insert, int index, const TableColumn& column, std::size_t row) {
    const std::int64_t value = column.values[row];
    switch (column.types[row]) {
        case CellType::kNull:
            insert.bind(index, std::nullopt);
            return;
        case CellType::kInteger:
            insert.bind(index, value);
            return;
        case CellType::kReal:
            insert.bind(index, std::bit_cast<double>(value));
            return;
        case CellType::kText:
            insert.bind(index, std::string_view(column.texts[static_cast<std::size_t>(value)]));
            return;
        case CellType::kBlob:
            insert.bind(index,
                        std::as_bytes(std::span(column.texts[static_cast<std::size_t>(value)])));
            return;
    }
}

/// Its statement in the schema, with `target` for its name.
std::string definitionOf(const std::string& table, const std::string& target) {
    const std::string beginning = "CREATE TABLE " + table + " (";
    for (const Migration& migration : migrations()) {
        const std::string_view sql(migration.sql);
        const std::size_t at = sql.find(beginning);
        if (at == std::string_view::npos) continue;
        const std::size_t rest = at + beginning.size() - 1;
        return "CREATE TEMP TABLE " + target + " " +
               std::string(sql.substr(rest, sql.find(';', at) - rest));
    }
    return {};
}

Result<std::int64_t> countBlobs(Connection& connection, const char* table) {
    auto select = connection.prepare("SELECT count(*) FROM main.packed WHERE name=?");
    if (!select) return failure(select);
    if (auto row = select->bind(1, std::string_view(table)).step(); !row) return failure(row);
    return select->integer(0);
}

/// Puts the packed rows of one table where `target` is.
class Unpacker {
public:
    Unpacker(Connection& connection, const PackedTable& table, std::string target,
             const PackedFault& onFault)
        : m_connection(connection),
          m_table(table),
          m_target(std::move(target)),
          m_onFault(onFault) {}

    Result<void> unpack() {
        const std::string name(m_table.name);
        const auto plain = m_connection.hasTable(name);
        if (!plain) return failure(plain);
        std::string sql = "DROP TABLE IF EXISTS temp." + m_target + ";";
        sql += definitionOf(name, m_target) + ";";
        if (*plain) sql += "INSERT INTO temp." + m_target + " SELECT * FROM main." + name;
        if (auto made = m_connection.execute(sql); !made) return made;
        auto select = m_connection.prepare(
            "SELECT id, count, data FROM main.packed WHERE name=? ORDER BY id");
        if (!select) return failure(select);
        select->bind(1, std::string_view(name));
        while (true) {
            auto row = select->step();
            if (!row) return failure(row);
            if (!*row) break;
            if (auto done = use(*select); !done) return done;
        }
        return {};
    }

private:
    Result<void> fault(const Statement& row, const std::string& what) {
        const std::string sentence =
            "row " + std::to_string(row.integer(0)) + ", of " + m_table.name + ", " + what;
        if (m_onFault) {
            m_onFault(sentence);
            return {};
        }
        return failure(ErrorCode::kUnreadable, m_connection.path() + ": packed " + sentence +
                                                   "; keep what is sound of the file with " +
                                                   repairCommand(m_connection.path()));
    }
    Result<void> use(const Statement& row) {
        const auto rows = columns::decodeRows(row.blob(2));
        if (!rows) return fault(row, "does not decode: " + rows.error().message);
        if (static_cast<std::int64_t>(rows->count) != row.integer(1))
            return fault(row, "does not hold as many as it says");
        m_rows += row.integer(1);
        m_bytes += static_cast<std::int64_t>(columns::textBytes(*rows));
        // Twice what a writer packs: more is made to exhaust memory.
        if (m_rows > 2 * kMostRows || m_bytes > 2 * kMostBytes)
            return fault(row, "is more than a recording keeps like this");
        const auto refused = insertRows(m_connection, "temp." + m_target, *rows);
        if (!refused) return failure(refused);
        if (*refused > 0) return fault(row, "has " + std::to_string(*refused) + " impossible rows");
        return {};
    }

    Connection& m_connection;
    const PackedTable& m_table;
    std::string m_target;
    const PackedFault& m_onFault;
    std::int64_t m_rows = 0, m_bytes = 0;
};

}  // namespace

Result<void> packRows(Connection& connection) {
    for (const PackedTable& table : kPackedTables)
        if (auto packed = packTable(connection, table); !packed) return packed;
    return {};
}

bool isCopied(std::string_view table) {
    const auto all = copiedTables();
    return std::any_of(all.begin(), all.end(),
                       [table](const Table* each) { return table == each->name; });
}

Result<void> copyLongTables(Connection& connection) {
    for (const Table* table : copiedTables()) {
        const std::string name(table->name);
        const auto rows = connection.integer("SELECT count(*) FROM main." + name);
        if (!rows) return failure(rows);
        if (*rows < kLeastCopied) continue;
        if (auto stored = storeAll(connection, table->name, table->order); !stored) return stored;
        if (auto made = removeCopiesOnChange(connection, name); !made) return made;
    }
    return {};
}

Result<std::vector<RowTable>> readCopies(Connection& connection, const std::string& table) {
    std::vector<RowTable> copies;
    if (!isCopied(table)) return copies;
    const auto there = connection.hasTable("packed");
    if (!there) return failure(there);
    if (!*there) return copies;
    auto select =
        connection.prepare("SELECT count, data FROM main.packed WHERE name=? ORDER BY id");
    if (!select) return failure(select);
    select->bind(1, std::string_view(table));
    while (true) {
        auto row = select->step();
        if (!row) return std::vector<RowTable>();
        if (!*row) return copies;
        auto rows = columns::decodeRows(select->blob(1));
        if (!rows || static_cast<std::int64_t>(rows->count) != select->integer(0))
            return std::vector<RowTable>();
        copies.push_back(std::move(*rows));
    }
}

Result<std::int64_t> countStoredRows(Connection& connection, const std::string& table) {
    const auto plain = connection.hasTable(table);
    if (!plain) return failure(plain);
    if (*plain) return connection.integer("SELECT count(*) FROM main." + table);
    return connection.integer("SELECT coalesce(sum(count), 0) FROM main.packed WHERE name='" +
                              table + "'");
}

Result<std::uint64_t> insertRows(Connection& connection, const std::string& target,
                                 const RowTable& rows) {
    const auto dot = target.find('.');
    const auto known =
        connection.columnsOf(dot == std::string::npos ? target : target.substr(dot + 1));
    if (!known) return failure(known);
    std::string names, marks;
    std::vector<const TableColumn*> used;
    for (const TableColumn& column : rows.columns) {
        const bool sane = column.name.find('"') == std::string::npos;
        if (!sane || std::find(known->begin(), known->end(), column.name) == known->end()) continue;
        names.append(names.empty() ? "\"" : ",\"").append(column.name).append("\"");
        marks.append(marks.empty() ? "?" : ",?");
        used.push_back(&column);
    }
    if (used.empty()) return rows.count;
    auto insert = connection.prepare("INSERT OR REPLACE INTO " + target + "(" + names +
                                     ") VALUES(" + marks + ")");
    if (!insert) return failure(insert);
    std::uint64_t refused = 0;
    for (std::size_t row = 0; row < rows.count; ++row) {
        for (std::size_t i = 0; i < used.size(); ++i)
            bindCell(*insert, static_cast<int>(i) + 1, *used[i], row);
        if (auto done = insert->run(); done)
            continue;
        else if (!connection.refusedValues())
            return failure(done);
        ++refused;
    }
    return refused;
}

Result<std::vector<std::string>> unpackRows(Connection& connection, const std::string& prefix,
                                            const PackedFault& onFault) {
    std::vector<std::string> made;
    const auto there = connection.hasTable("packed");
    if (!there) return failure(there);
    if (!*there) return made;  // before 2.0
    for (const PackedTable& table : kPackedTables) {
        const auto blobs = countBlobs(connection, table.name);
        if (!blobs) return failure(blobs);
        if (*blobs == 0) continue;
        made.push_back(prefix + table.name);
        if (auto done = Unpacker(connection, table, made.back(), onFault).unpack(); !done)
            return failure(done);
    }
    return made;
}

TemporaryWrites::TemporaryWrites(Connection& connection) : m_connection(connection) {
    static_cast<void>(connection.execute("PRAGMA query_only=OFF; PRAGMA temp_store=MEMORY"));
}

TemporaryWrites::~TemporaryWrites() {
    static_cast<void>(m_connection.execute("PRAGMA query_only=ON"));
}

}  // namespace shardscope::storage
