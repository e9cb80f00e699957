// One column of integers as bytes: a transform (plain, delta or dictionary), then the residuals
// as byte planes (all lowest bytes, then all second bytes, ...) just as wide as the values need.
// Planes, because zstd then sees the noise of low bytes and the order of high ones apart.
#pragma once

#include "storage/columns/byte_io.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shardscope::columns {

/// Appends `values`; picks plain or delta, whichever is narrower.
void encodeColumn(std::span<const std::int64_t> values, std::vector<std::byte>& out);

/// The same for values that repeat in no order (addresses, sizes): a dictionary where it pays.
void encodeRepeatingColumn(std::span<const std::int64_t> values, std::vector<std::byte>& out);

/// A dictionary where neither plain nor delta values fit a byte.
void encodeSmallestColumn(std::span<const std::int64_t> values, std::vector<std::byte>& out);

/// Reads a column in blocks, in order. Keeps views into the bytes it was given.
class ColumnReader {
public:
    /// Takes a column of `count` values from `in`; false when the bytes make no sense.
    bool open(ByteReader& in, std::size_t count);

    /// The next out.size() values; the caller never asks for more than `count` in all.
    void read(std::span<std::int64_t> out);

    /// True when all values are the same; then `constant()` is that value.
    [[nodiscard]] bool isConstant() const { return m_constant; }
    [[nodiscard]] std::int64_t constant() const { return m_base; }

private:
    bool openFlat(ByteReader& in, std::size_t count);
    bool openDictionary(ByteReader& in, std::size_t count);
    void readResiduals(std::span<std::int64_t> out);

    std::uint8_t m_transform = 0;
    std::uint8_t m_width = 0;
    bool m_constant = false;
    std::int64_t m_base = 0;
    std::uint64_t m_previous = 0;
    std::size_t m_count = 0;
    std::size_t m_position = 0;
    std::span<const std::byte> m_planes;
    std::vector<std::int64_t> m_dictionary;
};

/// All values of a column at once; false when the bytes make no sense.
bool decodeColumn(ByteReader& in, std::size_t count, std::vector<std::int64_t>& out);

// Doubles as a column of integers: as they are when all are whole numbers, else as bit patterns.

/// Appends u8 form (0 whole numbers, 1 IEEE-754 bits) and the column.
void encodeDoubles(std::span<const double> values, std::vector<std::byte>& out);
/// False when the bytes make no sense.
bool decodeDoubles(ByteReader& in, std::size_t count, std::vector<double>& out);

}  // namespace shardscope::columns
