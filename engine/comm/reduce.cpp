#include "engine/comm/reduce.h"

#include <algorithm>

namespace shardscope::comm {
namespace {

#define SHARDSCOPE_MULTIVERSION __attribute__((target_clones("avx512f", "avx2", "default")))

SHARDSCOPE_MULTIVERSION void sumTwo(const float* a, const float* b, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

SHARDSCOPE_MULTIVERSION void addTwo(const float* a, const float* b, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] += a[i] + b[i];
}

SHARDSCOPE_MULTIVERSION void addOne(const float* a, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] += a[i];
}

/// Stays in the first-level cache while all sources pass over it.
constexpr std::size_t kTile = 2048;

}  // namespace

void sumSources(std::span<const float* const> sources, float* out, std::size_t n, bool accumulate) {
    if (sources.size() == 2) {
        (accumulate ? addTwo : sumTwo)(sources[0], sources[1], out, n);
        return;
    }
    alignas(64) float tile[kTile];
    for (std::size_t begin = 0; begin < n; begin += kTile) {
        const std::size_t count = std::min(kTile, n - begin);
        std::copy_n(sources[0] + begin, count, tile);
        for (const float* source : sources.subspan(1)) addOne(source + begin, tile, count);
        if (accumulate) {
            addOne(tile, out + begin, count);
        } else {
            std::copy_n(tile, count, out + begin);
        }
    }
}

}  // namespace shardscope::comm
