// Launches of norm.cuh and norm_backward.cuh. Included as device_table.cuh says.
#pragma once

#include "engine/kernels/cuda/launch_shapes.cuh"
#include "engine/kernels/cuda/norm.cuh"
#include "engine/kernels/cuda/norm_backward.cuh"
#include "engine/kernels/cuda/norm_backward_held.cuh"
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
    const NormRows<T> rows{norm.rows,
                           norm.width,
                           static_cast<float>(kNormEpsilon),
                           in(norm.x),
                           in(norm.delta),
                           in(norm.weight),
                           in(norm.bias),
                           out(norm.sum),
                           out(norm.copy),
                           out(norm.value),
                           norm.mean,
                           norm.rstd,
                           norm.tickets,
                           normTickets(norm.rows)};
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

template <class G>
NormSums<G> normSums(const DeviceNormBackward& norm) {
    const std::int64_t parts = 2 * normParts(norm.rows) * norm.width;
    return {norm.width,
            kNormGroup,
            norm.work,
            norm.work + parts,
            norm.tickets,
            static_cast<G*>(norm.dWeight),
            static_cast<G*>(norm.dBias),
            norm.addWeight,
            norm.addBias};
}

template <class T, class G>
void normBackwardOf(const DeviceNormBackward& norm, void* stream) {
    const auto in = [](const void* address) { return static_cast<const T*>(address); };
    const NormSums<G> sums = normSums<G>(norm);
    float* const means = sums.groups + 2 * normGroups(norm.rows) * norm.width;
    const NormRowsBackward<T> rows{norm.rows,
                                   norm.width,
                                   in(norm.x),
                                   in(norm.dy),
                                   in(norm.skip),
                                   in(norm.weight),
                                   norm.mean,
                                   norm.rstd,
                                   static_cast<T*>(norm.dx),
                                   reinterpret_cast<NormRowMeans*>(means)};
    constexpr int kWidth = kPackOf<T>;
    const bool wide = packedRows<kWidth>(norm.width, rows.x, rows.dy, rows.skip, rows.weight,
                                         rows.dx, sums.parts);
    const auto blocks = static_cast<unsigned>(normParts(norm.rows));
    // Every GPU has that many threads in a block; fewer would add up in another order.
    constexpr unsigned kHeldThreads = kHeldWarps * kWarp;
    if (wide && norm.width <= kHeldColumns<kWidth> && launchLimits().blockThreads >= kHeldThreads) {
        launch(normBackwardHeldKernel<kWidth, T, G>, Grid{blocks, kHeldThreads}, stream, rows,
               sums);
        return;
    }
    const unsigned half = std::min({columnThreads(norm.width, wide ? kWidth : 1),
                                    launchLimits().blockThreads / kRowHalves, kMostColumnThreads});
    launch(wide ? normBackwardKernel<kWidth, T, G> : normBackwardKernel<1, T, G>,
           Grid{blocks, kRowHalves * half}, stream, rows, sums);
}

inline void normBackward(const DeviceNormBackward& norm, void* stream) {
    if (norm.rows <= 0) return;
    withType(norm.dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        norm.gradientType == norm.dtype ? normBackwardOf<T, T>(norm, stream)
                                        : normBackwardOf<T, float>(norm, stream);
    });
}

}  // namespace shardscope::kernels::device
