// norm_backward.cuh for rows that a warp can hold in its registers: each is read once, and a warp
// waits for memory once a row instead of four times. The same sums in another order.
#pragma once

#include "engine/kernels/cuda/block_reduce.cuh"
#include "engine/kernels/cuda/norm_backward.cuh"
#include "engine/kernels/cuda/norm_gradients.cuh"
#include "engine/kernels/cuda/pack.cuh"

#include <cstdint>

namespace shardscope::kernels::device {

inline constexpr int kHeldPacks = 4;       ///< of a row, by a lane
inline constexpr unsigned kHeldWarps = 8;  ///< of a block
/// Widest row that is held.
template <int kWidth>
inline constexpr int kHeldColumns = kHeldPacks* static_cast<int>(kWarp) * kWidth;

template <int kWidth, class T>
struct HeldRow {
    NormPacks<kWidth, T> packs[kHeldPacks];
};

/// This lane's columns of its pack p, and whether the row has them.
template <int kWidth>
__device__ __forceinline__ std::int64_t heldColumn(int p) {
    return (static_cast<std::int64_t>(p) * kWarp + threadIdx.x % kWarp) * kWidth;
}

template <int kWidth, class T>
__device__ __forceinline__ void holdRow(const NormRowsBackward<T>& n, std::int64_t row,
                                        HeldRow<kWidth, T>& held) {
    for (int p = 0; p < kHeldPacks; ++p) {
        const std::int64_t i = heldColumn<kWidth>(p);
        held.packs[p] = {};
        if (i < n.width) held.packs[p] = loadPacks<kWidth>(n, row * n.width + i);
    }
}

/// Means of the warp's row; columns that are not there have a weight of zero.
template <int kWidth, class T>
__device__ __forceinline__ NormRowMeans meansOfHeld(const NormRowsBackward<T>& n, float mean,
                                                    float rstd, const HeldRow<kWidth, T>& held,
                                                    const NormColumns<kWidth>* columns) {
    float sum = 0, product = 0;
    for (int p = 0; p < kHeldPacks; ++p) {
        for (int k = 0; k < kWidth; ++k) {
            const float g = toFloat(held.packs[p].dy.at[k]) * columns[p].weight.at[k];
            sum += g;
            product += g * ((toFloat(held.packs[p].x.at[k]) - mean) * rstd);
        }
    }
    const float inverse = 1.0F / static_cast<float>(n.width);
    return {n.mean == nullptr ? 0.0F : warpSum(sum) * inverse, warpSum(product) * inverse};
}

template <int kWidth, class T>
__device__ __forceinline__ void gradientOfHeld(const NormRowsBackward<T>& n, std::int64_t row,
                                               const HeldRow<kWidth, T>& held,
                                               NormColumns<kWidth>* columns) {
    const float mean = n.mean == nullptr ? 0.0F : n.mean[row];
    const float rstd = n.rstd[row];
    const NormRowMeans means = meansOfHeld(n, mean, rstd, held, columns);
    for (int p = 0; p < kHeldPacks; ++p) {
        const std::int64_t i = heldColumn<kWidth>(p);
        if (i < n.width)
            gradientOfPacks(n, row * n.width + i, mean, rstd, means, held.packs[p], columns[p]);
    }
}

/// What the block's warps kept of their columns: in shared memory.
template <int kWidth>
struct HeldSums {
    Pack<float, kWidth> warps[kHeldWarps][kHeldPacks * kWarp];
};

/// Adds up `kept` of a column over the block's warps, in their order, and writes the sums to `to`.
template <int kWidth, class Kept>
__device__ __forceinline__ void sumOverWarps(HeldSums<kWidth>& sums, std::int64_t width, float* to,
                                             const Kept& kept) {
    const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    __syncthreads();  // what was summed before has been read
    for (int p = 0; p < kHeldPacks; ++p) sums.warps[warp][p * kWarp + lane] = kept(p);
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x) {
        float sum = 0;
        for (unsigned w = 0; w < kHeldWarps; ++w) sum += sums.warps[w][i / kWidth].at[i % kWidth];
        to[i] = sum;
    }
}

/// A warp a row, of rows of at most kHeldColumns<kWidth>.
template <int kWidth, class T, class G>
__global__ void __launch_bounds__(kHeldWarps* kWarp)
    normBackwardHeldKernel(NormRowsBackward<T> n, NormSums<G> sums) {
    const std::int64_t blocks = gridDim.x;
    NormColumns<kWidth> columns[kHeldPacks]{};
    for (int p = 0; p < kHeldPacks; ++p) {
        const std::int64_t i = heldColumn<kWidth>(p);
        if (i >= n.width) continue;
        const Pack<T, kWidth> weight = packAt<kWidth>(n.weight, i);
        for (int k = 0; k < kWidth; ++k) columns[p].weight.at[k] = toFloat(weight.at[k]);
    }
    for (std::int64_t row = blockIdx.x + threadIdx.x / kWarp * blocks; row < n.rows;
         row += kHeldWarps * blocks) {
        HeldRow<kWidth, T> held;
        holdRow(n, row, held);
        gradientOfHeld(n, row, held, columns);
    }
    __shared__ HeldSums<kWidth> kept;
    float* const part = sums.parts + 2 * blockIdx.x * n.width;
    sumOverWarps(kept, n.width, part, [&](int p) { return columns[p].dWeight; });
    if (sums.dBias != nullptr)
        sumOverWarps(kept, n.width, part + n.width, [&](int p) { return columns[p].dBias; });
    addUpParts<4>(sums);
}

}  // namespace shardscope::kernels::device
