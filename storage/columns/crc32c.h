// CRC-32C (Castagnoli), reflected, initial value and final xor 0xFFFFFFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace shardscope::columns {

/// Continue a checksum by passing the previous result as `seed`.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed = 0);

}  // namespace shardscope::columns
