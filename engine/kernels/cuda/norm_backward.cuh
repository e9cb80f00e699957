// Backward of norm.cuh: gradients of the rows, and of weight and bias summed over them.
//
// With z = (x - mean) rstd and g = dy weight: dx = skip + rstd (g - mean of g - z mean of g z),
// dWeight = sum of dy z, dBias = sum of dy. A block takes every gridDim-th row: first its warps sum
// g and g z of a row each, then each half of its threads goes down every other one of the rows, a
// few columns a thread, where the rows are in the cache still. What they sum is the block's part of
// the gradients of weight and bias; norm_gradients.cuh adds up the parts. A result depends on the
// shape alone.
#pragma once

#include "engine/kernels/cuda/block_reduce.cuh"
#include "engine/kernels/cuda/norm.cuh"
#include "engine/kernels/cuda/norm_gradients.cuh"
#include "engine/kernels/cuda/pack.cuh"

#include <cstdint>

namespace shardscope::kernels::device {

/// Means over a row.
struct NormRowMeans {
    float g, gz;
};

/// DeviceNormBackward with its types.
template <class T>
struct NormRowsBackward {
    std::int64_t rows, width;
    const T* x;
    const T* dy;
    const T* skip;
    const T* weight;
    const float* mean;
    const float* rstd;
    T* dx;
    NormRowMeans* means;  ///< (rows)
};

/// By a warp.
template <int kWidth, class T>
__device__ __forceinline__ void meansOfRow(const NormRowsBackward<T>& n, std::int64_t row) {
    const float mean = n.mean == nullptr ? 0.0F : n.mean[row];
    const float rstd = n.rstd[row];
    float sum = 0, product = 0;
    forLane<kWidth>(n.width, [&](std::int64_t i) {
        const Pack<T, kWidth> x = packAt<kWidth>(n.x, row * n.width + i);
        const Pack<T, kWidth> dy = packAt<kWidth>(n.dy, row * n.width + i);
        const Pack<T, kWidth> weight = packAt<kWidth>(n.weight, i);
        for (int k = 0; k < kWidth; ++k) {
            const float g = toFloat(dy.at[k]) * toFloat(weight.at[k]);
            sum += g;
            product += g * ((toFloat(x.at[k]) - mean) * rstd);
        }
    });
    const float inverse = 1.0F / static_cast<float>(n.width);
    const NormRowMeans means{n.mean == nullptr ? 0.0F : warpSum(sum) * inverse,
                             warpSum(product) * inverse};
    if (threadIdx.x % kWarp == 0) n.means[row] = means;
}

template <int kWidth, class T>
struct NormPacks {
    Pack<T, kWidth> x, dy, skip;
};

template <int kWidth, class T>
__device__ __forceinline__ NormPacks<kWidth, T> loadPacks(const NormRowsBackward<T>& n,
                                                          std::int64_t at) {
    NormPacks<kWidth, T> packs{packAt<kWidth>(n.x, at), packAt<kWidth>(n.dy, at), {}};
    if (n.skip != nullptr) packs.skip = packAt<kWidth>(n.skip, at);
    return packs;
}

/// What a thread keeps of its columns on the way down the rows.
template <int kWidth>
struct NormColumns {
    Pack<float, kWidth> weight, dWeight, dBias;
};

/// Elements [at, at + kWidth) of a row; adds to the sums of dy z and dy.
template <int kWidth, class T>
__device__ __forceinline__ void gradientOfPacks(const NormRowsBackward<T>& n, std::int64_t at,
                                                float mean, float rstd, NormRowMeans means,
                                                const NormPacks<kWidth, T>& packs,
                                                NormColumns<kWidth>& columns) {
    Pack<T, kWidth> dx;
    for (int k = 0; k < kWidth; ++k) {
        const float z = (toFloat(packs.x.at[k]) - mean) * rstd;
        const float d = toFloat(packs.dy.at[k]);
        columns.dWeight.at[k] += d * z;
        columns.dBias.at[k] += d;
        const float own = rstd * (d * columns.weight.at[k] - means.g - z * means.gz);
        dx.at[k] = fromFloat<T>(n.skip == nullptr ? own : toFloat(packs.skip.at[k]) + own);
    }
    packAt<kWidth>(n.dx, at) = dx;
}

/// Columns [i, i + kWidth) of a row.
template <int kWidth, class T>
__device__ __forceinline__ void gradientOfRow(const NormRowsBackward<T>& n, std::int64_t row,
                                              std::int64_t i, const NormPacks<kWidth, T>& packs,
                                              NormColumns<kWidth>& columns) {
    gradientOfPacks(n, row * n.width + i, n.mean == nullptr ? 0.0F : n.mean[row], n.rstd[row],
                    n.means[row], packs, columns);
}

inline constexpr unsigned kRowHalves = 2;
inline constexpr unsigned kMostColumnThreads = 128;  ///< in a half

/// Every other row of the block, a few of them loaded ahead.
template <int kWidth, class T>
__device__ __forceinline__ void gradientOfColumns(const NormRowsBackward<T>& n, std::int64_t i,
                                                  std::int64_t half, NormColumns<kWidth>& columns) {
    const std::int64_t step = kRowHalves * gridDim.x;
    const std::int64_t begin = blockIdx.x + half * gridDim.x;
    for (std::int64_t first = begin; first < n.rows; first += kAhead * step) {
        NormPacks<kWidth, T> packs[kAhead]{};
        for (int k = 0; k < kAhead; ++k)
            if (first + k * step < n.rows)
                packs[k] = loadPacks<kWidth>(n, (first + k * step) * n.width + i);
        for (int k = 0; k < kAhead; ++k)
            if (first + k * step < n.rows) gradientOfRow(n, first + k * step, i, packs[k], columns);
    }
}

/// The second half's sums to those of the first one, which have the same columns: by all threads.
template <int kWidth>
__device__ __forceinline__ void addHalves(unsigned half, unsigned thread,
                                          NormColumns<kWidth>& columns) {
    __shared__ float others[2 * kWidth][kMostColumnThreads];
    __syncthreads();  // the first half has read those of the columns before
    for (int k = 0; k < kWidth && half == 1; ++k) {
        others[k][thread] = columns.dWeight.at[k];
        others[kWidth + k][thread] = columns.dBias.at[k];
    }
    __syncthreads();
    for (int k = 0; k < kWidth && half == 0; ++k) {
        columns.dWeight.at[k] += others[k][thread];
        columns.dBias.at[k] += others[kWidth + k][thread];
    }
}

/// dx of the block's rows, and its part of the sums.
template <int kWidth, class T>
__device__ __forceinline__ void gradientsOfBlock(const NormRowsBackward<T>& n, float* part,
                                                 bool bias) {
    const unsigned columnThreads = blockDim.x / kRowHalves;
    const unsigned half = threadIdx.x / columnThreads, thread = threadIdx.x % columnThreads;
    for (std::int64_t tile = 0; tile < n.width; tile += columnThreads * kWidth) {
        const std::int64_t i = tile + thread * kWidth;
        NormColumns<kWidth> columns{};
        if (i < n.width) {
            const Pack<T, kWidth> weight = packAt<kWidth>(n.weight, i);
            for (int k = 0; k < kWidth; ++k) columns.weight.at[k] = toFloat(weight.at[k]);
            gradientOfColumns(n, i, half, columns);
        }
        addHalves(half, thread, columns);
        if (half != 0 || i >= n.width) continue;
        packAt<kWidth>(part, i) = columns.dWeight;
        if (bias) packAt<kWidth>(part, n.width + i) = columns.dBias;
    }
}

/// A thread takes up to 160 registers, more than there are for larger blocks.
template <int kWidth, class T, class G>
__global__ void __launch_bounds__(kRowHalves* kMostColumnThreads)
    normBackwardKernel(NormRowsBackward<T> n, NormSums<G> sums) {
    const std::int64_t warps = blockDim.x / kWarp, blocks = gridDim.x;
    for (std::int64_t row = blockIdx.x + threadIdx.x / kWarp * blocks; row < n.rows;
         row += warps * blocks)
        meansOfRow<kWidth>(n, row);
    __syncthreads();
    gradientsOfBlock<kWidth>(n, sums.parts + 2 * blockIdx.x * n.width, sums.dBias != nullptr);
    addUpParts<kWidth>(sums);
}

}  // namespace shardscope::kernels::device
