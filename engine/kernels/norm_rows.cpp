#include "engine/kernels/norm_rows.h"

#include "engine/control/multiversion.h"

#include <cmath>

namespace shardscope::kernels {
namespace {

// `omp simd reduction` lets the compiler keep several running sums, and nothing else.

SHARDSCOPE_FOR_EACH_CPU float sumOf(const float* __restrict x, std::size_t n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < n; ++i) sum += x[i];
    return sum;
}

SHARDSCOPE_FOR_EACH_CPU float sumAdding(const float* __restrict x, const float* __restrict delta,
                                        float* __restrict out, std::size_t n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < n; ++i) {
        out[i] = x[i] + delta[i];
        sum += out[i];
    }
    return sum;
}

SHARDSCOPE_FOR_EACH_CPU float squaredDistance(const float* __restrict x, float centre,
                                              std::size_t n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < n; ++i) sum += (x[i] - centre) * (x[i] - centre);
    return sum;
}

SHARDSCOPE_FOR_EACH_CPU void scale(const float* __restrict x, float mean, float rstd,
                                   const float* __restrict weight, float* __restrict y,
                                   std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd * weight[i];
}

SHARDSCOPE_FOR_EACH_CPU void scaleAndShift(const float* __restrict x, float mean, float rstd,
                                           const float* __restrict weight,
                                           const float* __restrict bias, float* __restrict y,
                                           std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
}

/// With g = dy weight and z = (x - mean) rstd.
struct RowSums {
    float g = 0;
    float gz = 0;
};

/// Adds dy z to dWeight on the way.
SHARDSCOPE_FOR_EACH_CPU RowSums rowSums(const float* __restrict x, const float* __restrict dy,
                                        const float* __restrict weight, float mean, float rstd,
                                        float* __restrict dWeight, std::size_t n) {
    float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
    for (std::size_t i = 0; i < n; ++i) {
        const float z = (x[i] - mean) * rstd;
        const float g = dy[i] * weight[i];
        dWeight[i] += dy[i] * z;
        sum += g;
        product += g * z;
    }
    return {sum, product};
}

SHARDSCOPE_FOR_EACH_CPU void add(const float* __restrict x, float* __restrict sum, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) sum[i] += x[i];
}

/// dx = skip + rstd (g - meanG - z meanGz); element by element, so dx may be dy or skip.
SHARDSCOPE_FOR_EACH_CPU void rowGradient(const float* x, const float* dy, const float* weight,
                                         const float* skip, float mean, float rstd, RowSums means,
                                         float* dx, std::size_t n) {
    if (skip == nullptr) {
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) {
            const float z = (x[i] - mean) * rstd;
            dx[i] = rstd * (dy[i] * weight[i] - means.g - z * means.gz);
        }
        return;
    }
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const float z = (x[i] - mean) * rstd;
        dx[i] = skip[i] + rstd * (dy[i] * weight[i] - means.g - z * means.gz);
    }
}

}  // namespace

void normRows(const NormForward& norm, std::int64_t begin, std::int64_t end) {
    const std::size_t n = norm.width;
    const float inverse = 1.0F / static_cast<float>(n);
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
        const float* x = norm.x + row * n;
        float sum = 0;
        if (norm.delta != nullptr) {
            sum = sumAdding(x, norm.delta + row * n, norm.sum + row * n, n);
            x = norm.sum + row * n;
        } else if (norm.mean != nullptr) {
            sum = sumOf(x, n);
        }
        const float mean = norm.mean == nullptr ? 0.0F : sum * inverse;
        const float rstd = 1.0F / std::sqrt(squaredDistance(x, mean, n) * inverse +
                                            static_cast<float>(kNormEpsilon));
        if (norm.mean != nullptr) norm.mean[row] = mean;
        norm.rstd[row] = rstd;
        if (norm.bias == nullptr) {
            scale(x, mean, rstd, norm.weight, norm.y + row * n, n);
        } else {
            scaleAndShift(x, mean, rstd, norm.weight, norm.bias, norm.y + row * n, n);
        }
    }
}

void normRowsBackward(const NormBackward& norm, std::int64_t begin, std::int64_t end,
                      float* dWeight, float* dBias) {
    const std::size_t n = norm.width;
    const float inverse = 1.0F / static_cast<float>(n);
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
        const float* x = norm.x + row * n;
        const float* dy = norm.dy + row * n;
        const float mean = norm.mean == nullptr ? 0.0F : norm.mean[row];
        const float rstd = norm.rstd[row];
        RowSums means = rowSums(x, dy, norm.weight, mean, rstd, dWeight, n);
        if (dBias != nullptr) add(dy, dBias, n);
        means.g = norm.mean == nullptr ? 0.0F : means.g * inverse;
        means.gz *= inverse;
        rowGradient(x, dy, norm.weight, norm.skip == nullptr ? nullptr : norm.skip + row * n, mean,
                    rstd, means, norm.dx + row * n, n);
    }
}

}  // namespace shardscope::kernels
