// Consecutive elements moved in one access, and numbers of all types as fp32.
#pragma once

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include <cstdint>

namespace shardscope::kernels::device {

using BFloat16 = __nv_bfloat16;
using Float16 = __half;

template <class T, int kWidth>
struct alignas(sizeof(T) * kWidth) Pack {
    T at[kWidth];
};

__device__ __forceinline__ float toFloat(float value) {
    return value;
}
__device__ __forceinline__ float toFloat(BFloat16 value) {
    return __bfloat162float(value);
}
__device__ __forceinline__ float toFloat(Float16 value) {
    return __half2float(value);
}

template <class T>
__device__ __forceinline__ T fromFloat(float value);
template <>
__device__ __forceinline__ float fromFloat<float>(float value) {
    return value;
}
/// To the nearest, ties to even.
template <>
__device__ __forceinline__ BFloat16 fromFloat<BFloat16>(float value) {
    return __float2bfloat16_rn(value);
}
/// To the nearest, ties to even; to infinity beyond 65,504.
template <>
__device__ __forceinline__ Float16 fromFloat<Float16>(float value) {
    return __float2half_rn(value);
}

template <int kWidth, class T>
__device__ __forceinline__ Pack<T, kWidth>& packAt(T* elements, std::int64_t first) {
    return *reinterpret_cast<Pack<T, kWidth>*>(elements + first);
}
template <int kWidth, class T>
__device__ __forceinline__ const Pack<T, kWidth>& packAt(const T* elements, std::int64_t first) {
    return *reinterpret_cast<const Pack<T, kWidth>*>(elements + first);
}

/// This thread's place in the grid, and the number of threads in it.
__device__ __forceinline__ std::int64_t gridThread() {
    return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ std::int64_t gridThreads() {
    return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

/// Whether packs of kWidth elements may be read from there. Null is aligned.
template <int kWidth, class T>
bool packed(const T* elements) {
    return reinterpret_cast<std::uintptr_t>(elements) % sizeof(Pack<T, kWidth>) == 0;
}

}  // namespace shardscope::kernels::device
