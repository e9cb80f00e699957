// Doubles as a column of integers: as they are when all are whole numbers, else as bit patterns.
#pragma once

#include "storage/columns/byte_io.h"

#include <cstddef>
#include <span>
#include <vector>

namespace shardscope::columns {

/// Appends u8 form (0 whole numbers, 1 IEEE-754 bits) and the column.
void encodeDoubles(std::span<const double> values, std::vector<std::byte>& out);
/// False when the bytes make no sense.
bool decodeDoubles(ByteReader& in, std::size_t count, std::vector<double>& out);

}  // namespace shardscope::columns
