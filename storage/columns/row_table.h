// Rows of a table of SQLite as one blob, column after column. What the columns are called and hold
// is in the blob. Layout: storage/schema/FORMAT.md, "Packed rows".
#pragma once

#include "storage/columns/chunk.h"
#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shardscope::columns {

/// As the file numbers them, also in its checksums of rows.
enum class CellType : std::uint8_t { kNull, kInteger, kReal, kText, kBlob };
inline constexpr CellType kLastCellType = CellType::kBlob;

struct TableColumn {
    std::string name;
    std::vector<CellType> types;  ///< a cell each
    /// An integer, a real's IEEE-754 bits, a text's or blob's index in `texts`; 0 of a NULL.
    std::vector<std::int64_t> values;
    std::vector<std::string> texts;  ///< each once
    friend bool operator==(const TableColumn&, const TableColumn&) = default;
};

/// All columns have `count` cells.
struct RowTable {
    std::size_t count = 0;
    std::vector<TableColumn> columns;
    friend bool operator==(const RowTable&, const RowTable&) = default;
};

/// In one blob. Of texts and blobs together, each as often as it stands in a row: what a reader
/// makes of the blob is bounded, whatever its bytes.
inline constexpr std::size_t kMostPackedRows = 65'536, kMostTableColumns = 64;
inline constexpr std::size_t kMostTextBytes = std::size_t{16} << 20;

/// What its texts and blobs take, each as often as it stands in a row.
[[nodiscard]] std::size_t textBytes(const RowTable& table);

/// `table` is within the limits above and not empty.
[[nodiscard]] ChunkBytes encodeRows(const RowTable& table);

/// kUnreadable when the bytes are damaged or no rows.
[[nodiscard]] Result<RowTable> decodeRows(std::span<const std::byte> blob);

}  // namespace shardscope::columns
