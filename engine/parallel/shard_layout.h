// Where a unit's parameters lie in its flat buffer, and which part of it a rank owns.
//
// The flat buffer is the parameters one after another, zero-padded so that it splits into W
// equal shards of whole cache lines. Matrices come first, so that the elements that weight
// decay applies to are a prefix. Pure arithmetic.
#pragma once

#include "engine/kernels/parameter.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace shardscope::parallel {

struct ShardLayout {
    std::int64_t used = 0;      ///< floats of all parameters
    std::int64_t decaying = 0;  ///< prefix of `used` under weight decay
    std::int64_t shard = 0;     ///< floats a rank owns
    std::int64_t ranks = 1;
    std::vector<std::int64_t> offsets;  ///< of each parameter

    [[nodiscard]] std::int64_t padded() const { return shard * ranks; }
    /// How many of the leading elements of `rank`'s shard decay.
    [[nodiscard]] std::int64_t decayingInShard(std::int64_t rank) const {
        return std::clamp<std::int64_t>(decaying - rank * shard, 0, shard);
    }
};

inline constexpr std::int64_t kCacheLineFloats = 16;

/// Precondition: nothing that decays after something that does not.
[[nodiscard]] ShardLayout layOut(std::span<const kernels::Parameter> parameters,
                                 std::int64_t ranks);

}  // namespace shardscope::parallel
