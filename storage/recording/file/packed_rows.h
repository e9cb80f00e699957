// Rows that a small finalised recording keeps as columns, in the table `packed`: a row of its own
// takes 100 bytes, within columns some 20. For SQL they are tables again, temporary ones of the
// connection that reads.
#pragma once

#include "storage/columns/row_table.h"
#include "storage/sqlite/connection.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::storage {

struct PackedTable {
    const char* name;
    const char* key;    ///< its columns, in order of which rows are packed
    const char* large;  ///< the column that takes most
};
/// What may be packed. Other tables are small, or are what people without this program ask for.
inline constexpr PackedTable kPackedTables[] = {
    {"strings", "rank, id", "text"}, {"collectives", "rank, group_id, sequence", "arrivals"}};

/// Moves the rows into `packed` and drops their table, within the caller's transaction. Leaves a
/// table that is too large to be unpacked by everyone who opens the file.
Result<void> packRows(Connection& connection);

/// Of tables of which a long recording has more rows than one wants to wait for: copies of them in
/// `packed`, as columns, beside the rows, which stay for SQL. A change of the table removes its
/// copies (triggers). Within the caller's transaction; short tables are left as they are.
Result<void> copyLongTables(Connection& connection);
inline constexpr std::int64_t kLeastCopied = 20'000;
[[nodiscard]] bool isCopied(std::string_view table);

/// All rows of `table`, in its order, out of its copies. Empty where there are none or one is
/// damaged: the rows are in the table.
Result<std::vector<columns::RowTable>> readCopies(Connection& connection, const std::string& table);

/// Rows of `table` in a writer's connection, packed or not; `table` is one of kPackedTables.
Result<std::int64_t> countStoredRows(Connection& connection, const std::string& table);

using PackedFault = std::function<void(const std::string& sentence)>;

/// Where rows are packed, makes the temporary table `prefix` + name with all rows of the table, in
/// the place of one of that name; without a prefix it stands for the one that the file lacks.
/// Returns the names of the tables that it made. A damaged blob ends it with kUnreadable, or is
/// reported to `onFault` and left out.
Result<std::vector<std::string>> unpackRows(Connection& connection, const std::string& prefix = {},
                                            const PackedFault& onFault = {});

/// Lets a connection of our own that only reads make temporary tables, in memory.
class TemporaryWrites {
public:
    explicit TemporaryWrites(Connection& connection);
    ~TemporaryWrites();
    TemporaryWrites(const TemporaryWrites&) = delete;
    TemporaryWrites& operator=(const TemporaryWrites&) = delete;

private:
    Connection& m_connection;
};

/// Inserts rows into `target` of `connection`, in the place of those with the same key. Columns
/// that it does not have are left out. Returns how many it refused for their values.
Result<std::uint64_t> insertRows(Connection& connection, const std::string& target,
                                 const columns::RowTable& rows);

}  // namespace shardscope::storage
