// Launches of norm.cuh, norm_backward.cuh and norm_gradients.cuh. Included as device_table.cuh
// says.
#pragma once

#include "engine/kernels/cuda/launch_shapes.cuh"
#include "engine/kernels/cuda/norm.cuh"
#include "engine/kernels/cuda/norm_backward.cuh"
#include "engine/kernels/cuda/norm_gradients.cuh"
#include "engine/kernels/norm_rows.h"

namespace shardscope::kernels::device {

/// A warp a row.
inline Grid warpGrid(std::int64_t rows) {
    constexpr std::int64_t kBlocksPerMultiprocessor = 8;
    const LaunchLimits limits = launchLimits();
    const unsigned threads = std::min(256u, limits.blockThreads);
    const std::int64_t warps = threads / kWarp;
    const std::int64_t blocks =
        std::min((rows + warps - 1) / warps, kBlocksPerMultiprocessor * limits.multiprocessors);
    return {static_cast<unsigned>(blocks), threads};
}

template <class T>
void normForwardOf(const DeviceNormForward& norm, void* stream) {
    const auto in = [](const void* address) { return static_cast<const T*>(address); };
    const auto out = [](void* address) { return static_cast<T*>(address); };
    const NormRows<T> rows{norm.rows,       norm.width,     static_cast<float>(kNormEpsilon),
                           in(norm.x),      in(norm.delta), in(norm.weight),
                           in(norm.bias),   out(norm.sum),  out(norm.copy),
                           out(norm.value), norm.mean,      norm.rstd};
    const bool wide = packedRows<kPackOf<T>>(norm.width, rows.x, rows.delta, rows.weight, rows.bias,
                                             rows.sum, rows.copy, rows.value);
    launch(wide ? normForwardKernel<kPackOf<T>, T> : normForwardKernel<1, T>, warpGrid(norm.rows),
           stream, rows);
}

inline void normForward(const DeviceNormForward& norm, void* stream) {
    if (norm.rows <= 0) return;
    withType(norm.dtype,
             [&](auto type) { normForwardOf<typename decltype(type)::type>(norm, stream); });
}

template <class T>
void normBackwardOf(const DeviceNormBackward& norm, void* stream) {
    const auto in = [](const void* address) { return static_cast<const T*>(address); };
    const std::int64_t parts = normParts(norm.rows);
    const NormRowsBackward<T> rows{
        norm.rows,
        norm.width,
        in(norm.x),
        in(norm.dy),
        in(norm.skip),
        in(norm.weight),
        norm.mean,
        norm.rstd,
        static_cast<T*>(norm.dx),
        norm.work,
        reinterpret_cast<NormRowMeans*>(norm.work + 2 * parts * norm.width)};
    constexpr int kWidth = kPackOf<T>;
    const bool wide = packedRows<kWidth>(norm.width, rows.x, rows.dy, rows.skip, rows.weight,
                                         rows.dx, rows.parts);
    launch(wide ? normBackwardKernel<kWidth, T> : normBackwardKernel<1, T>,
           Grid{static_cast<unsigned>(parts), columnThreads(norm.width, wide ? kWidth : 1)}, stream,
           rows);
}

inline void normBackward(const DeviceNormBackward& norm, void* stream) {
    if (norm.rows <= 0) return;
    withType(norm.dtype,
             [&](auto type) { normBackwardOf<typename decltype(type)::type>(norm, stream); });
}

inline void normGradients(const DeviceNormGradients& norm, void* stream) {
    const std::int64_t vectors = norm.dBias == nullptr ? 1 : 2;
    const std::int64_t blocks = vectors * ((norm.width + kWarp - 1) / kWarp);
    withType(norm.gradientType, [&](auto type) {
        using G = typename decltype(type)::type;
        const NormSums<G> sums{
            normParts(norm.rows),        norm.width,     norm.work,   static_cast<G*>(norm.dWeight),
            static_cast<G*>(norm.dBias), norm.addWeight, norm.addBias};
        launch(normGradientsKernel<G>,
               Grid{static_cast<unsigned>(blocks), std::min(256u, launchLimits().blockThreads)},
               stream, sums);
    });
}

}  // namespace shardscope::kernels::device
