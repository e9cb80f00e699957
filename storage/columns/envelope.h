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

/// How hard zstd tries: while recording, and when a small recording is made smaller (a twelfth
/// smaller, at 25 MB/s).
enum class Effort : int { kFast = 1, kSmall = 15 };

/// Appends u32 raw bytes, u32 compressed bytes, u32 CRC-32C, the zstd frame. The checksum covers
/// everything in `out` before it and the zstd frame.
void seal(std::vector<std::byte>& out, std::span<const std::byte> raw,
          Effort effort = Effort::kFast);

/// Opposite of seal for `blob` whose first `front` bytes stand before the sizes. `what` names the
/// thing in error messages.
Result<std::vector<std::byte>> unseal(std::span<const std::byte> blob, std::size_t front,
                                      std::size_t maxRaw, const char* what);

/// Replaces the number at `at`, which lies in the first `front` bytes of a sound `blob`.
Result<void> changeFront(std::span<std::byte> blob, std::size_t front, std::size_t at,
                         std::uint32_t number, const char* what);

/// `blob`, whose first `front` bytes stand before the sizes, sealed again.
Result<std::vector<std::byte>> resealed(std::span<const std::byte> blob, std::size_t front,
                                        Effort effort, const char* what);

}  // namespace shardscope::columns
