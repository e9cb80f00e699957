#include "engine/kernels/softmax.h"

#include "engine/control/multiversion.h"
#include "engine/kernels/vector_math.h"

#include <algorithm>
#include <cmath>

namespace shardscope::kernels {
namespace {

SHARDSCOPE_FOR_EACH_CPU float largest(const float* __restrict x, std::size_t n) {
    float most = x[0];
#pragma omp simd reduction(max : most)
    for (std::size_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
    return most;
}

/// x = e^(scale (x - shift)); their sum.
SHARDSCOPE_FOR_EACH_CPU float exponentials(float* __restrict x, float shift, float scale,
                                           std::size_t n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < n; ++i) {
        x[i] = exponential((x[i] - shift) * scale);
        sum += x[i];
    }
    return sum;
}

SHARDSCOPE_FOR_EACH_CPU void multiply(float* __restrict x, float factor, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) x[i] *= factor;
}

SHARDSCOPE_FOR_EACH_CPU float dot(const float* __restrict a, const float* __restrict b,
                                  std::size_t n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

SHARDSCOPE_FOR_EACH_CPU void rowGradient(const float* __restrict p, float* __restrict d, float mean,
                                         float scale, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) d[i] = scale * p[i] * (d[i] - mean);
}

}  // namespace

void causalSoftmax(float* scores, std::int64_t n, std::int64_t context, float scale) {
    for (std::int64_t r = 0; r < n * context; ++r) {
        float* row = scores + r * context;
        const auto seen = static_cast<std::size_t>(r % context + 1);
        const float sum = exponentials(row, largest(row, seen), scale, seen);
        multiply(row, 1.0F / sum, seen);
        std::fill(row + seen, row + context, 0.0F);
    }
}

void causalSoftmaxBackward(const float* p, float* d, std::int64_t n, std::int64_t context,
                           float scale) {
    for (std::int64_t r = 0; r < n * context; ++r) {
        const float* probabilities = p + r * context;
        float* row = d + r * context;
        const auto seen = static_cast<std::size_t>(r % context + 1);
        rowGradient(probabilities, row, dot(probabilities, row, seen), scale, seen);
        std::fill(row + seen, row + context, 0.0F);
    }
}

void addToStatistics(float* row, std::int64_t width, std::int64_t target,
                     RowStatistics& statistics) {
    const auto n = static_cast<std::size_t>(width);
    if (target >= 0 && target < width) statistics.wanted = row[target];
    // A NaN is no maximum, but makes the sum one.
    const float most = std::max(statistics.largest, largest(row, n));
    const float before = statistics.sum == 0 ? 0 : std::exp(statistics.largest - most);
    statistics.sum = statistics.sum * before + exponentials(row, most, 1.0F, n);
    statistics.largest = most;
}

void softmaxGradient(float* row, std::int64_t width, std::int64_t target,
                     const RowStatistics& statistics, float scale) {
    const auto n = static_cast<std::size_t>(width);
    exponentials(row, statistics.largest, 1.0F, n);
    multiply(row, scale / statistics.sum, n);
    if (target >= 0 && target < width) row[target] -= scale;
}

void softmaxGradientOfExponentials(float* row, std::int64_t width, std::int64_t target,
                                   const RowStatistics& statistics, float own, float scale) {
    const float share = std::exp(own - statistics.largest) / statistics.sum;
    multiply(row, scale * share, static_cast<std::size_t>(width));
    if (target >= 0 && target < width) row[target] -= scale;
}

double softmaxCrossEntropy(float* row, std::size_t width, std::size_t target, float scale,
                           bool gradient) {
    const float most = largest(row, width);
    const double wanted = static_cast<double>(row[target]) - static_cast<double>(most);
    const float sum = exponentials(row, most, 1.0F, width);
    if (gradient) {
        multiply(row, scale / sum, width);
        row[target] -= scale;
    }
    return std::log(static_cast<double>(sum)) - wanted;
}

}  // namespace shardscope::kernels
