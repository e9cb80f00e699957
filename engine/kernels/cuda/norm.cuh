// Layer norm and RMS norm with the residual addition around them: the formulas of norm_rows.cpp on
// rows of any type, sums in fp32. A warp a row forward; backward as norm_backward.cuh says.
#pragma once

#include "engine/kernels/cuda/block_reduce.cuh"
#include "engine/kernels/cuda/pack.cuh"

#include <cmath>
#include <cstdint>

namespace shardscope::kernels::device {

/// DeviceNormForward with its types.
template <class T>
struct NormRows {
    std::int64_t rows, width;
    float epsilon;
    const T* x;
    const T* delta;
    const T* weight;
    const T* bias;
    T* sum;
    T* copy;
    T* value;
    float* mean;
    float* rstd;
    unsigned* tickets;  ///< null: none
    std::int64_t ticketCount;
};

/// Columns of a row that this lane takes, in packs: calls visit(column).
template <int kWidth, class Visit>
__device__ __forceinline__ void forLane(std::int64_t width, const Visit& visit) {
    const std::int64_t lane = threadIdx.x % kWarp;
    for (std::int64_t i = lane * kWidth; i < width; i += kWarp * kWidth) visit(i);
}

/// Packs that are loaded before the first of them is used: behind a store the compiler may not load
/// ahead by itself.
inline constexpr int kAhead = 4;

/// The same in two: load(column) for a few packs, then use(column, what was loaded) for each.
template <int kWidth, class Load, class Use>
__device__ __forceinline__ void forLane(std::int64_t width, const Load& load, const Use& use) {
    constexpr std::int64_t kStep = kWarp * kWidth;
    for (std::int64_t i = threadIdx.x % kWarp * kWidth; i < width; i += kAhead * kStep) {
        decltype(load(i)) loaded[kAhead]{};
        for (int k = 0; k < kAhead; ++k)
            if (i + k * kStep < width) loaded[k] = load(i + k * kStep);
        for (int k = 0; k < kAhead; ++k)
            if (i + k * kStep < width) use(i + k * kStep, loaded[k]);
    }
}

/// x + delta of this lane's columns, rounded as the rest sees it; returns its sum.
template <int kWidth, class T>
__device__ __forceinline__ float addRow(const NormRows<T>& n, std::int64_t row) {
    struct Loaded {
        Pack<T, kWidth> x, more;
    };
    const auto load = [&](std::int64_t i) {
        Loaded loaded{packAt<kWidth>(n.x, row * n.width + i), {}};
        if (n.delta != nullptr) loaded.more = packAt<kWidth>(n.delta, row * n.width + i);
        return loaded;
    };
    float total = 0;
    forLane<kWidth>(n.width, load, [&](std::int64_t i, Loaded& loaded) {
        Pack<T, kWidth>& x = loaded.x;
        if (n.delta != nullptr) {
            for (int k = 0; k < kWidth; ++k)
                x.at[k] = fromFloat<T>(toFloat(x.at[k]) + toFloat(loaded.more.at[k]));
            packAt<kWidth>(n.sum, row * n.width + i) = x;
            if (n.copy != nullptr) packAt<kWidth>(n.copy, row * n.width + i) = x;
        }
        for (int k = 0; k < kWidth; ++k) total += toFloat(x.at[k]);
    });
    return total;
}

template <int kWidth, class T>
__device__ __forceinline__ float squaredDistance(const T* x, float centre, std::int64_t width) {
    float total = 0;
    forLane<kWidth>(width, [&](std::int64_t i) {
        const Pack<T, kWidth> pack = packAt<kWidth>(x, i);
        for (int k = 0; k < kWidth; ++k) {
            const float apart = toFloat(pack.at[k]) - centre;
            total += apart * apart;
        }
    });
    return total;
}

template <int kWidth, class T>
__device__ __forceinline__ void scaleRow(const NormRows<T>& n, const T* x, T* y, float mean,
                                         float rstd) {
    struct Loaded {
        Pack<T, kWidth> x, weight, bias;
    };
    const auto load = [&](std::int64_t i) {
        Loaded loaded{packAt<kWidth>(x, i), packAt<kWidth>(n.weight, i), {}};
        if (n.bias != nullptr) loaded.bias = packAt<kWidth>(n.bias, i);
        return loaded;
    };
    forLane<kWidth>(n.width, load, [&](std::int64_t i, const Loaded& loaded) {
        Pack<T, kWidth> out;
        for (int k = 0; k < kWidth; ++k) {
            const float z = (toFloat(loaded.x.at[k]) - mean) * rstd;
            const float shift = n.bias == nullptr ? 0.0F : toFloat(loaded.bias.at[k]);
            out.at[k] = fromFloat<T>(z * toFloat(loaded.weight.at[k]) + shift);
        }
        packAt<kWidth>(y, i) = out;
    });
}

/// The second and third pass over a row find it in the cache; a lane reads what it wrote itself.
template <int kWidth, class T>
__global__ void normForwardKernel(NormRows<T> n) {
    const std::int64_t warps = blockDim.x / kWarp;
    const float inverse = 1.0F / static_cast<float>(n.width);
    if (n.tickets != nullptr && gridThread() < n.ticketCount) n.tickets[gridThread()] = 0;
    for (std::int64_t row = blockIdx.x * warps + threadIdx.x / kWarp; row < n.rows;
         row += gridDim.x * warps) {
        const float total = warpSum(addRow<kWidth>(n, row));
        const float mean = n.mean == nullptr ? 0.0F : total * inverse;
        const T* const x = (n.delta == nullptr ? n.x : n.sum) + row * n.width;
        const float square = warpSum(squaredDistance<kWidth>(x, mean, n.width)) * inverse;
        const float rstd = 1.0F / sqrtf(square + n.epsilon);
        scaleRow<kWidth>(n, x, n.value + row * n.width, mean, rstd);
        if (threadIdx.x % kWarp != 0) continue;
        if (n.mean != nullptr) n.mean[row] = mean;
        n.rstd[row] = rstd;
    }
}

}  // namespace shardscope::kernels::device
