// Runs our CUDA kernels on the CPU: a fiber per CUDA thread, blocks one after another.
//
// Declares what nvcc would and includes engine/kernels/cuda/device_table.cuh at its end: the
// keywords, the built-in variables, barriers, fences, warp shuffles and ballots, atomics, bf16,
// fp16. A kernel whose threads do not all reach a barrier or shuffle, which would hang there, ends
// the program. Blocks and threads come in order, or backwards where a test asks for it. Not
// emulated: different speeds of warps, memory ordering, fused multiply-adds. Kernels with shared
// memory take turns: the caller launches one at a time.
#pragma once

#include "engine/comm/reduce.h"
#include "engine/kernels/cuda/launch_limits.h"
#include "tests/support/fibers.h"

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
// One block runs at a time, so that a static is what its threads share.
#define __shared__ static

struct dim3 {
    unsigned x = 1;
};

inline thread_local dim3 threadIdx;
inline thread_local dim3 blockIdx;
inline thread_local dim3 blockDim;
inline thread_local dim3 gridDim;

/// Bits of an IEEE fp32 number's upper half.
struct __nv_bfloat16 {
    std::uint16_t bits = 0;
    friend bool operator==(__nv_bfloat16, __nv_bfloat16) = default;
};

inline float __bfloat162float(__nv_bfloat16 value) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

inline __nv_bfloat16 __float2bfloat16_rn(float value) {
    if (std::isnan(value)) return {0x7fff};
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t odd = bits >> 16 & 1;
    return {static_cast<std::uint16_t>((bits + 0x7fff + odd) >> 16)};
}

/// IEEE binary16.
struct __half {
    std::uint16_t bits = 0;
    friend bool operator==(__half, __half) = default;
};

inline float __half2float(__half value) {
    return shardscope::comm::Float16::widen(value.bits);
}

inline __half __float2half_rn(float value) {
    return {shardscope::comm::Float16::round(value)};
}

inline float __expf(float value) {
    return std::exp(value);
}

inline float __fdividef(float a, float b) {
    return a / b;
}

namespace shardscope::testing {

inline constexpr unsigned kEmulatedWarp = 32;

/// The place where the threads of a warp put what they shuffle.
struct EmulatedWarp {
    Fibers::Barrier barrier{kEmulatedWarp};
    std::array<std::array<std::byte, 16>, kEmulatedWarp> lanes{};
};

struct EmulatedBlock {
    explicit EmulatedBlock(unsigned threads) : barrier(threads) {
        for (unsigned i = 0; i < threads / kEmulatedWarp; ++i)
            warps.push_back(std::make_unique<EmulatedWarp>());
    }
    Fibers::Barrier barrier;
    std::vector<std::unique_ptr<EmulatedWarp>> warps;
};

inline thread_local EmulatedBlock* emulatedBlock = nullptr;

/// What launchLimits() answers; small, so that a test sees several blocks and strides.
inline kernels::device::LaunchLimits& emulatedLimits() {
    static kernels::device::LaunchLimits limits{1, 64};
    return limits;
}

/// Whether the last block runs first.
inline bool& emulatedBackwards() {
    static bool backwards = false;
    return backwards;
}

/// Kernel launches since the start of the process.
inline std::atomic<int>& emulatedLaunches() {
    static std::atomic<int> launches = 0;
    return launches;
}

}  // namespace shardscope::testing

inline void __syncthreads() {
    shardscope::testing::Fibers::wait(shardscope::testing::emulatedBlock->barrier);
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int laneMask) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16);
    using shardscope::testing::kEmulatedWarp;
    if (mask != 0xffffffffu) std::terminate();  // partial warps are not emulated
    auto& warp = *shardscope::testing::emulatedBlock->warps[threadIdx.x / kEmulatedWarp];
    const unsigned lane = threadIdx.x % kEmulatedWarp;
    std::memcpy(warp.lanes[lane].data(), &value, sizeof value);
    shardscope::testing::Fibers::wait(warp.barrier);
    std::memcpy(&value, warp.lanes[lane ^ static_cast<unsigned>(laneMask)].data(), sizeof value);
    shardscope::testing::Fibers::wait(warp.barrier);
    return value;
}

inline unsigned __ballot_sync(unsigned mask, bool predicate) {
    unsigned bits = static_cast<unsigned>(predicate) << threadIdx.x % 32;
    for (int lanes = 1; lanes < 32; lanes *= 2) bits |= __shfl_xor_sync(mask, bits, lanes);
    return bits;
}

inline int __popc(unsigned bits) {
    return std::popcount(bits);
}

inline double atomicAdd(double* address, double value) {
    return std::atomic_ref<double>(*address).fetch_add(value);
}

/// Counts from 0 to `last` and starts again; returns what was there.
inline unsigned atomicInc(unsigned* address, unsigned last) {
    const std::atomic_ref<unsigned> counter(*address);
    unsigned before = counter.load();
    while (!counter.compare_exchange_weak(before, before >= last ? 0 : before + 1)) {
    }
    return before;
}

inline void __threadfence() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

namespace shardscope::kernels::device {

inline LaunchLimits launchLimits() {
    return testing::emulatedLimits();
}

/// Runs the kernel to its end.
template <class... Parameters>
void launch(void (*kernel)(Parameters...), Grid grid, void*,
            std::type_identity_t<Parameters>... arguments) {
    ++testing::emulatedLaunches();
    testing::EmulatedBlock block(grid.threads);
    testing::EmulatedBlock* const outer = std::exchange(testing::emulatedBlock, &block);
    blockDim = {grid.threads};
    gridDim = {grid.blocks};
    for (unsigned index = 0; index < grid.blocks; ++index) {
        blockIdx = {testing::emulatedBackwards() ? grid.blocks - 1 - index : index};
        testing::Fibers::run(
            grid.threads, [&](unsigned) { kernel(arguments...); },
            [](unsigned thread) { threadIdx = {thread}; }, testing::emulatedBackwards());
    }
    testing::emulatedBlock = outer;
}

}  // namespace shardscope::kernels::device

// After what it is written in.
#include "engine/kernels/cuda/device_table.cuh"
