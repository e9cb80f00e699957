// Gradient accumulation and sums of squares over flat memory.
#pragma once

#include "engine/kernels/cuda/block_reduce.cuh"
#include "engine/kernels/cuda/pack.cuh"

#include <cstdint>

namespace shardscope::kernels::device {

template <int kWidth, class T>
__device__ __forceinline__ void accumulatePack(const T* in, float* out, bool add,
                                               std::int64_t first) {
    const Pack<T, kWidth> more = packAt<kWidth>(in, first);
    Pack<float, kWidth> sum{};
    if (add) sum = packAt<kWidth>(out, first);
    for (int k = 0; k < kWidth; ++k) {
        const float value = toFloat(more.at[k]);
        sum.at[k] = add ? sum.at[k] + value : value;
    }
    packAt<kWidth>(out, first) = sum;
}

template <int kWidth, class T>
__global__ void accumulateKernel(const T* in, float* out, std::int64_t n, bool add) {
    const std::int64_t packs = n / kWidth;
    for (std::int64_t i = gridThread(); i < packs; i += gridThreads())
        accumulatePack<kWidth>(in, out, add, i * kWidth);
    const std::int64_t rest = packs * kWidth + gridThread();
    if (rest < n) accumulatePack<1>(in, out, add, rest);
}

template <int kWidth>
__device__ __forceinline__ double squares(const float* values, std::int64_t first) {
    const Pack<float, kWidth> pack = packAt<kWidth>(values, first);
    double sum = 0;
    for (int k = 0; k < kWidth; ++k)
        sum += static_cast<double>(pack.at[k]) * static_cast<double>(pack.at[k]);
    return sum;
}

/// Blocks add in any order: the last bit of a double may differ from run to run.
template <int kWidth>
__global__ void sumOfSquaresKernel(const float* values, std::int64_t n, double* out) {
    const std::int64_t packs = n / kWidth;
    double sum = 0;
    for (std::int64_t i = gridThread(); i < packs; i += gridThreads())
        sum += squares<kWidth>(values, i * kWidth);
    const std::int64_t rest = packs * kWidth + gridThread();
    if (rest < n) sum += squares<1>(values, rest);
    sum = blockReduce(sum, 0.0, [](double a, double b) { return a + b; });
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

}  // namespace shardscope::kernels::device
