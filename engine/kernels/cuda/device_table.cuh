// The functions behind DeviceKernels: which kernel, how wide, how many blocks.
//
// Included after what declares Grid, `launch()` and `launchLimits()`: cuda_launch.cuh for a
// device, tests/support/cuda_emulation.h for the CPU.
#pragma once

#include "engine/control/device_runtime.h"
#include "engine/kernels/cuda/adamw.cuh"
#include "engine/kernels/cuda/elementwise.cuh"
#include "engine/kernels/cuda/softmax_cross_entropy.cuh"
#include "engine/kernels/device_kernels.h"

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

inline void adamW(const AdamWStep& step, std::int64_t n, std::int64_t decaying, float* parameter,
                  const float* gradient, float* firstMoment, float* secondMoment, void* cast,
                  void* stream) {
    if (n <= 0) return;
    const AdamWShard shard{
        n, decaying, parameter, gradient, firstMoment, secondMoment, static_cast<BFloat16*>(cast)};
    const bool wide = packed<kFlatWidth>(parameter) && packed<kFlatWidth>(gradient) &&
                      packed<kFlatWidth>(firstMoment) && packed<kFlatWidth>(secondMoment) &&
                      packed<kFlatWidth>(shard.cast);
    launch(wide ? adamWKernel<kFlatWidth> : adamWKernel<1>, flatGrid(n, wide ? kFlatWidth : 1),
           stream, adamWConstants(step), shard);
}

template <class T>
void softmaxCrossEntropyOf(T* logits, std::int64_t rows, std::int64_t width,
                           const std::int64_t* targets, float scale, bool gradient, double* loss,
                           void* stream) {
    launch(softmaxCrossEntropyKernel<T>, rowGrid(rows, width, 16 / static_cast<int>(sizeof(T))),
           stream, logits, width, targets, scale, gradient, loss);
}

inline void softmaxCrossEntropy(void* logits, DataType dtype, std::int64_t rows, std::int64_t width,
                                const std::int64_t* targets, float scale, bool gradient,
                                double* loss, void* stream) {
    if (rows <= 0) return;
    withType(dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        softmaxCrossEntropyOf(static_cast<T*>(logits), rows, width, targets, scale, gradient, loss,
                              stream);
    });
}

/// Of a softmax over rows of T.
template <class T>
Grid softmaxGrid(std::int64_t rows, std::int64_t width) {
    return rowGrid(rows, width, 16 / static_cast<int>(sizeof(T)));
}

inline void softmaxStatistics(const void* logits, DataType dtype, std::int64_t rows,
                              std::int64_t width, std::int64_t firstColumn,
                              const std::int64_t* targets, float* statistics, void* stream) {
    if (rows <= 0) return;
    withType(dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        launch(softmaxStatisticsKernel<T>, softmaxGrid<T>(rows, width), stream,
               static_cast<const T*>(logits), width, firstColumn, targets,
               reinterpret_cast<RowStatistics*>(statistics));
    });
}

inline void softmaxGradient(void* logits, DataType dtype, std::int64_t rows, std::int64_t width,
                            std::int64_t firstColumn, const std::int64_t* targets,
                            const float* statistics, float scale, void* stream) {
    if (rows <= 0) return;
    withType(dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        launch(softmaxGradientKernel<T>, softmaxGrid<T>(rows, width), stream,
               static_cast<T*>(logits), width, firstColumn, targets,
               reinterpret_cast<const RowStatistics*>(statistics), scale);
    });
}

template <class T>
void accumulateOf(const T* in, float* out, std::int64_t n, bool add, void* stream) {
    const bool wide = packed<kFlatWidth>(in) && packed<kFlatWidth>(out);
    launch(wide ? accumulateKernel<kFlatWidth, T> : accumulateKernel<1, T>,
           flatGrid(n, wide ? kFlatWidth : 1), stream, in, out, n, add);
}

inline void accumulate(const void* in, DataType dtype, float* out, std::int64_t n, bool add,
                       void* stream) {
    if (n <= 0) return;
    withType(dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        accumulateOf(static_cast<const T*>(in), out, n, add, stream);
    });
}

inline void sumOfSquares(const float* values, std::int64_t n, double* out, void* stream) {
    if (n <= 0) return;
    const bool wide = packed<kFlatWidth>(values);
    launch(wide ? sumOfSquaresKernel<kFlatWidth> : sumOfSquaresKernel<1>,
           flatGrid(n, wide ? kFlatWidth : 1), stream, values, n, out);
}

inline constexpr DeviceKernels kTable{&adamW,           &softmaxCrossEntropy, &softmaxStatistics,
                                      &softmaxGradient, &accumulate,          &sumOfSquares};

}  // namespace shardscope::kernels::device
