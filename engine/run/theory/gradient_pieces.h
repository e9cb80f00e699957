// How DDP cuts the gradients that it sends: the schedule works by it, theory counts by it.
#pragma once

#include "engine/run/config/run_config.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace shardscope::theory {

/// fp32 elements of a bucket, at least one.
[[nodiscard]] inline std::int64_t bucketElements(const run::RunConfig& config) {
    constexpr double kBytesAMegabyte = 1e6;
    return std::max<std::int64_t>(1, std::llround(config.bucketMegabytes * kBytesAMegabyte / 4));
}

/// Of a piece of `count` elements, how many top-k sends.
[[nodiscard]] inline std::int64_t keptElements(double keptFraction, std::int64_t count) {
    return std::clamp<std::int64_t>(std::llround(keptFraction * static_cast<double>(count)), 1,
                                    count);
}

}  // namespace shardscope::theory
