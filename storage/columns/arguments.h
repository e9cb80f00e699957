// Arguments of up to 65,536 spans as columns: what a form has room for, value by value.
//
// A form is a text such as {"External id":#,"grid":@}: keys, and a mark where each value stands
// (storage/schema/FORMAT.md). Rows of one form are stored column by column, so that a counter in
// the arguments costs what it costs as a column of its own. Pure and thread-safe; decoding never
// trusts its input.
#pragma once

#include "storage/columns/chunk.h"

#include <cstdint>
#include <span>
#include <vector>

namespace shardscope::columns {

/// Ids of arguments are string ids from here on; what lies below is a row of `strings`.
inline constexpr std::uint32_t kFirstArguments = 0x8000'0000u;
[[nodiscard]] constexpr bool isArguments(StringId id) {
    return id.value >= kFirstArguments;
}

/// Values of one chunk in all.
inline constexpr std::size_t kMaxArgumentValues = std::size_t{2} << 20;

struct ArgumentForm {
    StringId text;            ///< kEmptyString: no arguments, and no values
    std::uint32_t count = 0;  ///< values that it has room for
    friend bool operator==(const ArgumentForm&, const ArgumentForm&) = default;
};

/// Row i has the form `forms[rows[i]]`; its values stand behind those of row i - 1.
struct ArgumentRows {
    std::vector<ArgumentForm> forms;
    std::vector<std::uint32_t> rows;
    std::vector<std::int64_t> values;
    friend bool operator==(const ArgumentRows&, const ArgumentRows&) = default;
};

/// At least one row, at most kMaxChunkEvents and kMaxArgumentValues; no more forms than rows.
ChunkBytes encodeArguments(const ArgumentRows& rows);
Result<ArgumentRows> decodeArguments(std::span<const std::byte> chunk);
/// The same, smaller and slower to make.
Result<ChunkBytes> packedSmallArguments(std::span<const std::byte> chunk);

}  // namespace shardscope::columns
