// Gradients of weight and bias from what the blocks of norm_backward.cuh have summed, in its own
// launch: the last block of a group adds up the group's parts, the last of those the groups. Each
// sum is taken in the order of its parts, whichever comes last; no block waits for another.
#pragma once

#include "engine/kernels/cuda/pack.cuh"

#include <cstdint>

namespace shardscope::kernels::device {

/// Which of several blocks is the last to come to a place: it finds what the others wrote before.
/// Threadfences as in cooperative groups' barrier over a grid, but no block waits.
///
/// Asked by a whole block; true for one of `members`, for all of its threads. The ticket starts at
/// zero, and is zero again when all have come.
__device__ __forceinline__ bool lastToCome(unsigned* ticket, unsigned members) {
    __shared__ bool last;
    __syncthreads();  // what the block wrote; and its threads have read `last` of the time before
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(ticket, members - 1) == members - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

/// Where they go; sums of dy z and of dy lie behind each other, (2, width).
template <class G>
struct NormSums {
    std::int64_t width, groupSize;
    float* parts;   ///< (blocks, 2, width)
    float* groups;  ///< (groups, 2, width)
    unsigned* tickets;
    G* dWeight;
    G* dBias;  ///< null: none
    bool addWeight, addBias;

    /// Of parts and groups, how much is summed.
    [[nodiscard]] __device__ std::int64_t used() const {
        return dBias == nullptr ? width : 2 * width;
    }
};

/// Elements [i, i + kWidth) of `count` vectors that lie `apart` elements from each other.
template <int kWidth>
__device__ __forceinline__ Pack<float, kWidth> sumOfVectors(const float* vectors,
                                                            std::int64_t count, std::int64_t apart,
                                                            std::int64_t i) {
    Pack<float, kWidth> sum{};
#ifdef __CUDACC__
#pragma unroll 8
#endif
    for (std::int64_t v = 0; v < count; ++v) {
        const Pack<float, kWidth> more = packAt<kWidth>(vectors, v * apart + i);
        for (int k = 0; k < kWidth; ++k) sum.at[k] += more.at[k];
    }
    return sum;
}

template <int kWidth, class G>
__device__ __forceinline__ void sumParts(const NormSums<G>& n, std::int64_t group,
                                         std::int64_t members) {
    const std::int64_t each = 2 * n.width;
    for (std::int64_t i = threadIdx.x * kWidth; i < n.used(); i += blockDim.x * kWidth)
        packAt<kWidth>(n.groups + group * each, i) =
            sumOfVectors<kWidth>(n.parts + group * n.groupSize * each, members, each, i);
}

/// Element by element into gradients, which may lie at any address; all are read before the first
/// is written, or each would wait for the one before.
template <int kWidth, class G>
__device__ __forceinline__ void sumGroups(const NormSums<G>& n, std::int64_t groups) {
    for (std::int64_t i = threadIdx.x * kWidth; i < n.used(); i += blockDim.x * kWidth) {
        const Pack<float, kWidth> sum = sumOfVectors<kWidth>(n.groups, groups, 2 * n.width, i);
        const bool isWeight = i < n.width;
        const bool add = isWeight ? n.addWeight : n.addBias;
        G* const out = isWeight ? n.dWeight + i : n.dBias + (i - n.width);
        Pack<float, kWidth> before{};
        for (int k = 0; k < kWidth && add; ++k) before.at[k] = toFloat(out[k]);
        for (int k = 0; k < kWidth; ++k)
            out[k] = fromFloat<G>(add ? before.at[k] + sum.at[k] : sum.at[k]);
    }
}

/// Called by every block when its part is written.
template <int kWidth, class G>
__device__ __forceinline__ void addUpParts(const NormSums<G>& n) {
    const std::int64_t blocks = gridDim.x, group = blockIdx.x / n.groupSize;
    const std::int64_t groups = (blocks + n.groupSize - 1) / n.groupSize;
    const std::int64_t behind = blocks - group * n.groupSize;
    const std::int64_t members = behind < n.groupSize ? behind : n.groupSize;
    if (!lastToCome(n.tickets + group, static_cast<unsigned>(members))) return;
    sumParts<kWidth>(n, group, members);
    if (!lastToCome(n.tickets + groups, static_cast<unsigned>(groups))) return;
    sumGroups<kWidth>(n, groups);
}

}  // namespace shardscope::kernels::device
