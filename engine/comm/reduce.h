// Sums of rows over ranks in a fixed order, in fp32, vectorised for the CPU at hand.
#pragma once

#include "storage/model/events.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace shardscope::comm {

/// Whether rows of this type can be summed: fp32, bf16 and fp16.
[[nodiscard]] bool canSum(DataType dtype);

/// out[i] = sources[0][i] + sources[1][i] + ... in that order, added to out[i] when `accumulate`.
/// Sources are of `dtype`.
void sumSources(std::span<const void* const> sources, DataType dtype, float* out, std::size_t n,
                bool accumulate);

/// The same into a row of `dtype`, rounded once at the end. `out` may be one of the sources.
void sumSourcesRounded(std::span<const void* const> sources, DataType dtype, void* out,
                       std::size_t n);

/// A row of fp32 as `dtype`, rounded to the nearest (even).
void roundRow(const float* from, DataType dtype, void* out, std::size_t n);

// bf16 and fp16 from and to fp32, rounded to the nearest (even), without branches, so that loops
// over them become vector code on any CPU.

/// bf16 is the upper half of fp32.
struct BFloat16 {
    [[nodiscard]] static float widen(std::uint16_t half) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
    }
    [[nodiscard]] static std::uint16_t round(float value) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
        const std::uint32_t quiet = bits >> 16 | 0x40U;
        return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
    }
};

/// IEEE 754 binary16.
struct Float16 {
    [[nodiscard]] static float widen(std::uint16_t half) {
        const std::uint32_t magnitude = (half & 0x7fffU) << 13;
        const std::uint32_t exponent = magnitude & 0x0f800000U;
        const std::uint32_t normal = magnitude + (112U << 23);
        // Subnormal: the fraction on top of 2^-14, less 2^-14.
        const auto subnormal =
            std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude + (113U << 23)) - 0x1p-14F);
        const std::uint32_t huge = magnitude + (224U << 23);  // infinity and NaN
        const std::uint32_t bits =
            exponent == 0 ? subnormal : (exponent == 0x0f800000U ? huge : normal);
        return std::bit_cast<float>(bits | (half & 0x8000U) << 16);
    }
    [[nodiscard]] static std::uint16_t round(float value) {
        const auto all = std::bit_cast<std::uint32_t>(value);
        const std::uint32_t bits = all & 0x7fffffffU;
        const std::uint32_t normal = (bits - (112U << 23) + 0xfffU + (bits >> 13 & 1U)) >> 13;
        // Subnormal: adding 0.5 leaves the rounded fraction in the last bits.
        const std::uint32_t subnormal =
            std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits) + 0.5F) - (126U << 23);
        const std::uint32_t huge = bits > 0x7f800000U ? 0x7e00U : 0x7c00U;
        const std::uint32_t half =
            bits >= (143U << 23) ? huge : (bits < (113U << 23) ? subnormal : normal);
        return static_cast<std::uint16_t>(half | (all >> 16 & 0x8000U));
    }
};

}  // namespace shardscope::comm
