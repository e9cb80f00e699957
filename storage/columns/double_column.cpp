#include "storage/columns/double_column.h"

#include "storage/columns/column.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace shardscope::columns {
namespace {

enum Form : std::uint8_t { kWholeNumbers = 0, kBits = 1 };

/// Whether nothing is lost as an integer (bytes, nanoseconds, counts); -0.0 would be.
bool isWhole(double value) {
    if (!(std::abs(value) < 9.0e15)) return false;
    const auto integer = static_cast<std::int64_t>(value);
    return std::bit_cast<std::uint64_t>(static_cast<double>(integer)) ==
           std::bit_cast<std::uint64_t>(value);
}

}  // namespace

void encodeDoubles(std::span<const double> values, std::vector<std::byte>& out) {
    const bool whole = std::all_of(values.begin(), values.end(), isWhole);
    std::vector<std::int64_t> integers(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        integers[i] =
            whole ? static_cast<std::int64_t>(values[i]) : std::bit_cast<std::int64_t>(values[i]);
    putNumber(out, whole ? kWholeNumbers : kBits);
    encodeColumn(integers, out);
}

bool decodeDoubles(ByteReader& in, std::size_t count, std::vector<double>& out) {
    const auto form = in.number<std::uint8_t>();
    std::vector<std::int64_t> integers;
    if (form > kBits || !decodeColumn(in, count, integers)) return false;
    out.resize(count);
    for (std::size_t i = 0; i < count; ++i)
        out[i] = form == kWholeNumbers ? static_cast<double>(integers[i])
                                       : std::bit_cast<double>(integers[i]);
    return true;
}

}  // namespace shardscope::columns
