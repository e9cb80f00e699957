// Sums of rows over ranks in a fixed order, in fp32, vectorised for the CPU at hand.
#pragma once

#include "storage/model/events.h"

#include <cstddef>
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

}  // namespace shardscope::comm
