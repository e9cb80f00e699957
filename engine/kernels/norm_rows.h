// Layer norm and RMS norm row by row with the residual addition around them, fp32 in plain
// memory, any thread. y = (x - mean) rstd weight + bias; an RMS norm has no mean and no bias.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardscope::kernels {

inline constexpr double kNormEpsilon = 1e-5;

/// Null pointers: no `delta` to add (then no `sum` either), no bias, no mean (both: RMS norm).
struct NormForward {
    const float* x = nullptr;      ///< (rows, width)
    const float* delta = nullptr;  ///< added to x before the norm
    const float* weight = nullptr;
    const float* bias = nullptr;
    float* sum = nullptr;  ///< x + delta
    float* y = nullptr;
    float* mean = nullptr;  ///< (rows)
    float* rstd = nullptr;  ///< 1 / sqrt(variance or mean square + epsilon), (rows)
    std::size_t width = 0;
};
void normRows(const NormForward& norm, std::int64_t begin, std::int64_t end);

struct NormBackward {
    const float* x = nullptr;     ///< what was normed
    const float* dy = nullptr;    ///< gradient of y
    const float* skip = nullptr;  ///< gradient of x by another way, added to dx; null: none
    const float* weight = nullptr;
    const float* mean = nullptr;
    const float* rstd = nullptr;
    float* dx = nullptr;  ///< may be `dy`
    std::size_t width = 0;
};
/// Adds the rows' gradients to dWeight and dBias (width); dBias is null for an RMS norm.
void normRowsBackward(const NormBackward& norm, std::int64_t begin, std::int64_t end,
                      float* dWeight, float* dBias);

}  // namespace shardscope::kernels
