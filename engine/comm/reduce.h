// Sums of float rows in a fixed order, vectorised for the CPU at hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace shardscope::comm {

/// out[i] = sources[0][i] + sources[1][i] + ... in that order, added to out[i] when `accumulate`.
void sumSources(std::span<const float* const> sources, float* out, std::size_t n, bool accumulate);

/// The same over bf16 rows, summed in fp32.
void sumSources(std::span<const std::uint16_t* const> sources, float* out, std::size_t n,
                bool accumulate);

}  // namespace shardscope::comm
