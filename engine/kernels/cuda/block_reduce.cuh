// One value a thread to one value a warp or block.
#pragma once

namespace shardscope::kernels::device {

inline constexpr unsigned kWarp = 32;

template <class T>
__device__ __forceinline__ T shuffleXor(T value, unsigned mask) {
    return __shfl_xor_sync(0xffffffffu, value, static_cast<int>(mask));
}

/// Every thread of the warp gets the result.
template <class T, class Combine>
__device__ __forceinline__ T warpReduce(T value, Combine combine) {
    for (unsigned mask = kWarp / 2; mask > 0; mask /= 2)
        value = combine(value, shuffleXor(value, mask));
    return value;
}

__device__ __forceinline__ float warpSum(float value) {
    return warpReduce(value, [](float a, float b) { return a + b; });
}

/// Every thread gets the result. Blocks are of whole warps; at most once a kernel for each T.
template <class T, class Combine>
__device__ T blockReduce(T value, T neutral, Combine combine) {
    __shared__ T warps[kWarp];
    const unsigned lane = threadIdx.x % kWarp;
    value = warpReduce(value, combine);
    if (lane == 0) warps[threadIdx.x / kWarp] = value;
    __syncthreads();
    return warpReduce(lane < blockDim.x / kWarp ? warps[lane] : neutral, combine);
}

}  // namespace shardscope::kernels::device
