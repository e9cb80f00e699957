// The frame around every compressed blob: checksum, sizes, zstd.
#pragma once

#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shardscope::columns {

/// No payload unpacks to more than this, whatever its header says.
inline constexpr std::size_t kMaxRawBytes = 64u << 20;

/// Appends u32 raw bytes, u32 compressed bytes, u32 CRC-32C, the zstd frame. The checksum covers
/// everything in `out` before it and the zstd frame.
void seal(std::vector<std::byte>& out, std::span<const std::byte> raw);

/// Opposite of seal for `blob` whose first `front` bytes stand before the sizes. `what` names the
/// thing in error messages.
Result<std::vector<std::byte>> unseal(std::span<const std::byte> blob, std::size_t front,
                                      std::size_t maxRaw, const char* what);

}  // namespace shardscope::columns
