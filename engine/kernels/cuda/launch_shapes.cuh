// How the launching functions choose types, widths and grids. Included as device_table.cuh says.
#pragma once

#include "engine/control/device_runtime.h"
#include "engine/kernels/cuda/block_reduce.cuh"
#include "engine/kernels/cuda/pack.cuh"
#include "engine/kernels/device_operands.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

namespace shardscope::kernels::device {

/// Calls `call` with the std::type_identity of what `dtype` is on a device.
template <class Call>
void withType(DataType dtype, const Call& call) {
    switch (dtype) {
        case DataType::kFloat32:
            return call(std::type_identity<float>{});
        case DataType::kBFloat16:
            return call(std::type_identity<BFloat16>{});
        case DataType::kFloat16:
            return call(std::type_identity<Float16>{});
        default:
            throw control::DeviceError(control::DeviceFault::kOther,
                                       "a device kernel was given data type " +
                                           std::to_string(static_cast<int>(dtype)) +
                                           "; it takes fp32, bf16 and fp16");
    }
}

/// Elements of a flat array that a thread takes at once: 16 bytes of fp32.
inline constexpr int kFlatWidth = 4;

/// For n elements in packs of `width`: a few blocks a multiprocessor, the rest by striding.
inline Grid flatGrid(std::int64_t n, int width) {
    constexpr std::int64_t kBlocksPerMultiprocessor = 8;
    const LaunchLimits limits = launchLimits();
    const std::int64_t threads = std::min<std::int64_t>(256, limits.blockThreads);
    const std::int64_t packs = (n + width - 1) / width;
    const std::int64_t blocks = (packs + threads - 1) / threads;
    return {
        static_cast<unsigned>(std::min(blocks, kBlocksPerMultiprocessor * limits.multiprocessors)),
        static_cast<unsigned>(threads)};
}

/// A block a row; narrow rows take fewer warps.
inline Grid rowGrid(std::int64_t rows, std::int64_t width, int packWidth) {
    const std::int64_t packs = (width + packWidth - 1) / packWidth;
    const std::int64_t warps = std::clamp<std::int64_t>((packs + kWarp - 1) / kWarp, 1,
                                                        launchLimits().blockThreads / kWarp);
    return {static_cast<unsigned>(rows), static_cast<unsigned>(warps * kWarp)};
}

/// Elements of a 16-byte access.
template <class T>
inline constexpr int kPackOf = 16 / static_cast<int>(sizeof(T));

/// Whether rows of `width` at all these addresses may be moved in packs. Null is aligned.
template <int kWidth, class... T>
bool packedRows(std::int64_t width, const T*... addresses) {
    return width % kWidth == 0 && (... && packed<kWidth>(addresses));
}

/// Threads for a row of `width`, of which each takes packs; the rest by striding.
inline unsigned columnThreads(std::int64_t width, int packWidth) {
    const std::int64_t most = std::min<std::int64_t>(256, launchLimits().blockThreads);
    const std::int64_t packs = (width + packWidth - 1) / packWidth;
    return static_cast<unsigned>(
        std::clamp<std::int64_t>((packs + kWarp - 1) / kWarp * kWarp, kWarp, most));
}

}  // namespace shardscope::kernels::device
