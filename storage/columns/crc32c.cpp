#include "storage/columns/crc32c.h"

#include <array>
#include <cstring>

namespace shardscope::columns {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78u;
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

/// Eight tables, so that eight bytes are folded in at a time.
constexpr Tables makeTables() {
    Tables tables{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit)
            value = (value >> 1) ^ ((value & 1u) != 0 ? kPolynomial : 0u);
        tables[0][i] = value;
    }
    for (std::size_t t = 1; t < 8; ++t)
        for (std::size_t i = 0; i < 256; ++i)
            tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xFFu];
    return tables;
}

constexpr Tables kTables = makeTables();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) {
    std::uint32_t crc = ~seed;
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, 8);
        word ^= crc;
        crc = kTables[7][word & 0xFFu] ^ kTables[6][(word >> 8) & 0xFFu] ^
              kTables[5][(word >> 16) & 0xFFu] ^ kTables[4][(word >> 24) & 0xFFu] ^
              kTables[3][(word >> 32) & 0xFFu] ^ kTables[2][(word >> 40) & 0xFFu] ^
              kTables[1][(word >> 48) & 0xFFu] ^ kTables[0][word >> 56];
    }
    for (; i < bytes.size(); ++i)
        crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint32_t>(bytes[i])) & 0xFFu];
    return ~crc;
}

}  // namespace shardscope::columns
