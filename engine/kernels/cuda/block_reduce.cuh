// One value a thread to one value a block.
#pragma once

namespace shardscope::kernels::device {

inline constexpr unsigned kWarp = 32;

template <class T>
__device__ __forceinline__ T shuffleXor(T value, unsigned mask) {
    return __shfl_xor_sync(0xffffffffu, value, static_cast<int>(mask));
}

/// Every thread gets the result. Blocks are of whole warps; at most once a kernel for each T.
template <class T, class Combine>
__device__ T blockReduce(T value, T neutral, Combine combine) {
    __shared__ T warps[kWarp];
    const unsigned lane = threadIdx.x % kWarp;
    for (unsigned mask = kWarp / 2; mask > 0; mask /= 2)
        value = combine(value, shuffleXor(value, mask));
    if (lane == 0) warps[threadIdx.x / kWarp] = value;
    __syncthreads();
    value = lane < blockDim.x / kWarp ? warps[lane] : neutral;
    for (unsigned mask = kWarp / 2; mask > 0; mask /= 2)
        value = combine(value, shuffleXor(value, mask));
    return value;
}

}  // namespace shardscope::kernels::device
