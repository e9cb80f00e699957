#include "engine/comm/reduce.h"

#include "engine/control/multiversion.h"

#include <algorithm>
#include <cstring>

namespace shardscope::comm {
namespace {

SHARDSCOPE_FOR_EACH_CPU void sumTwo(const float* a, const float* b, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

SHARDSCOPE_FOR_EACH_CPU void addTwo(const float* a, const float* b, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] += a[i] + b[i];
}

SHARDSCOPE_FOR_EACH_CPU void addOne(const float* a, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] += a[i];
}

SHARDSCOPE_FOR_EACH_CPU void addBFloat16(const std::uint16_t* a, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] += BFloat16::widen(a[i]);
}

SHARDSCOPE_FOR_EACH_CPU void addFloat16(const std::uint16_t* a, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] += Float16::widen(a[i]);
}

SHARDSCOPE_FOR_EACH_CPU void roundBFloat16(const float* a, std::uint16_t* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = BFloat16::round(a[i]);
}

SHARDSCOPE_FOR_EACH_CPU void roundFloat16(const float* a, std::uint16_t* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = Float16::round(a[i]);
}

/// Stays in the first-level cache while all sources pass over it.
constexpr std::size_t kTile = 2048;

const float* floats(const void* row) {
    return static_cast<const float*>(row);
}

void addSource(const void* source, DataType dtype, std::size_t begin, float* tile, std::size_t n) {
    if (dtype == DataType::kFloat32) {
        addOne(floats(source) + begin, tile, n);
    } else {
        const auto* halves = static_cast<const std::uint16_t*>(source) + begin;
        (dtype == DataType::kBFloat16 ? addBFloat16 : addFloat16)(halves, tile, n);
    }
}

/// Calls take(tile, begin, count) with the sums of each tile.
template <class Take>
void forEachTile(std::span<const void* const> sources, DataType dtype, std::size_t n, Take take) {
    alignas(64) float tile[kTile];
    for (std::size_t begin = 0; begin < n; begin += kTile) {
        const std::size_t count = std::min(kTile, n - begin);
        std::fill_n(tile, count, -0.0F);  // what adds nothing, to a negative zero either
        for (const void* source : sources) addSource(source, dtype, begin, tile, count);
        take(tile, begin, count);
    }
}

}  // namespace

bool canSum(DataType dtype) {
    return dtype == DataType::kFloat32 || dtype == DataType::kBFloat16 ||
           dtype == DataType::kFloat16;
}

void sumSources(std::span<const void* const> sources, DataType dtype, float* out, std::size_t n,
                bool accumulate) {
    if (sources.size() == 1 && dtype == DataType::kFloat32) {
        if (accumulate) return addOne(floats(sources[0]), out, n);
        if (sources[0] != out) std::copy_n(floats(sources[0]), n, out);
        return;
    }
    if (sources.size() == 2 && dtype == DataType::kFloat32) {
        (accumulate ? addTwo : sumTwo)(floats(sources[0]), floats(sources[1]), out, n);
        return;
    }
    forEachTile(sources, dtype, n, [=](const float* tile, std::size_t begin, std::size_t count) {
        if (accumulate) {
            addOne(tile, out + begin, count);
        } else {
            std::copy_n(tile, count, out + begin);
        }
    });
}

void sumSourcesRounded(std::span<const void* const> sources, DataType dtype, void* out,
                       std::size_t n) {
    if (dtype == DataType::kFloat32) {
        sumSources(sources, dtype, static_cast<float*>(out), n, false);
        return;
    }
    forEachTile(sources, dtype, n, [=](const float* tile, std::size_t begin, std::size_t count) {
        roundRow(tile, dtype, static_cast<std::uint16_t*>(out) + begin, count);
    });
}

void roundRow(const float* from, DataType dtype, void* out, std::size_t n) {
    if (dtype == DataType::kFloat32) {
        std::memcpy(out, from, n * sizeof(float));
    } else {
        const auto round = dtype == DataType::kBFloat16 ? roundBFloat16 : roundFloat16;
        round(from, static_cast<std::uint16_t*>(out), n);
    }
}

}  // namespace shardscope::comm
