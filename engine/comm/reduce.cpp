#include "engine/comm/reduce.h"

#include "engine/control/multiversion.h"

#include <algorithm>
#include <bit>

namespace shardscope::comm {
namespace {

#define SHARDSCOPE_FOR_EACH_CPU SHARDSCOPE_MULTIVERSION("avx512f", "avx2", "default")

SHARDSCOPE_FOR_EACH_CPU void sumTwo(const float* a, const float* b, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

SHARDSCOPE_FOR_EACH_CPU void addTwo(const float* a, const float* b, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] += a[i] + b[i];
}

SHARDSCOPE_FOR_EACH_CPU void addOne(const float* a, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] += a[i];
}

/// bf16 is the upper half of fp32.
SHARDSCOPE_FOR_EACH_CPU void addWidened(const std::uint16_t* a, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        out[i] += std::bit_cast<float>(static_cast<std::uint32_t>(a[i]) << 16);
    }
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

void sumSources(std::span<const std::uint16_t* const> sources, float* out, std::size_t n,
                bool accumulate) {
    alignas(64) float tile[kTile];
    for (std::size_t begin = 0; begin < n; begin += kTile) {
        const std::size_t count = std::min(kTile, n - begin);
        std::fill_n(tile, count, 0.0F);
        for (const std::uint16_t* source : sources) addWidened(source + begin, tile, count);
        if (accumulate) {
            addOne(tile, out + begin, count);
        } else {
            std::copy_n(tile, count, out + begin);
        }
    }
}

}  // namespace shardscope::comm
