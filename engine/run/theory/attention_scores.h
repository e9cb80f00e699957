// How many scores the blocked kernel of attention holds at a time: it works by it, memory theory
// counts it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace shardscope::theory {

/// 512 KiB of fp32: they stay in the second-level cache.
inline constexpr std::int64_t kScoreFloats = std::int64_t{1} << 17;

/// Heads whose (context, context) scores are held at a time, at least one; `heads` of all rows of
/// the batch.
[[nodiscard]] constexpr std::int64_t headsAtATime(std::int64_t context, std::int64_t heads) {
    return std::clamp<std::int64_t>(kScoreFloats / (context * context), 1, heads);
}

}  // namespace shardscope::theory
