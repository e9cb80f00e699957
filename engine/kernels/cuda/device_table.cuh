// The functions behind DeviceKernels: which kernel, how wide, how many blocks.
//
// Included after what declares Grid, `launch()` and `launchLimits()`: device_kernels.cu for a
// device, tests/support/cuda_emulation.h for the CPU.
#pragma once

#include "engine/kernels/cuda/activation.cuh"
#include "engine/kernels/cuda/adamw.cuh"
#include "engine/kernels/cuda/elementwise.cuh"
#include "engine/kernels/cuda/embedding.cuh"
#include "engine/kernels/cuda/launch_norm.cuh"
#include "engine/kernels/cuda/launch_shapes.cuh"
#include "engine/kernels/cuda/softmax_cross_entropy.cuh"
#include "engine/kernels/device_kernels.h"

#include <cstdint>

namespace shardscope::kernels::device {

template <class T>
Activation<T> activationOf(const DeviceActivation& a) {
    return {a.n,
            static_cast<const T*>(a.gate),
            static_cast<const T*>(a.wide),
            static_cast<T*>(a.y),
            static_cast<T*>(a.d),
            static_cast<T*>(a.dGate)};
}

/// Whether packs may be taken; what is behind the last one is taken one by one.
template <class T>
bool packed(const Activation<T>& a) {
    return packedRows<kPackOf<T>>(0, a.gate, a.wide, a.y, a.d, a.dGate);
}

inline void activation(const DeviceActivation& given, void* stream) {
    if (given.n <= 0) return;
    withType(given.dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        const Activation<T> a = activationOf<T>(given);
        const bool wide = packed(a);
        launch(wide ? activationKernel<kPackOf<T>, T> : activationKernel<1, T>,
               flatGrid(a.n, wide ? kPackOf<T> : 1), stream, a);
    });
}

inline void activationBackward(const DeviceActivation& given, void* stream) {
    if (given.n <= 0) return;
    withType(given.dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        const Activation<T> a = activationOf<T>(given);
        const bool wide = packed(a);
        launch(wide ? activationBackwardKernel<kPackOf<T>, T> : activationBackwardKernel<1, T>,
               flatGrid(a.n, wide ? kPackOf<T> : 1), stream, a);
    });
}

inline EmbeddedTokens tokensOf(const DeviceEmbedding& e) {
    return {e.tokens, e.hidden, e.firstRow, e.rows, e.ids};
}

/// A block a token.
inline Grid tokenGrid(const DeviceEmbedding& e, int packWidth) {
    return {static_cast<unsigned>(e.tokens), columnThreads(e.hidden, packWidth)};
}

inline void embed(const DeviceEmbedding& given, const void* table, const void* positions,
                  std::int64_t context, void* x, bool add, void* stream) {
    if (given.tokens <= 0) return;
    withType(given.dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        constexpr int kWidth = kPackOf<T>;
        const Embedding<T> e{
            tokensOf(given), static_cast<const T*>(table), static_cast<const T*>(positions),
            context,         static_cast<T*>(x),           add};
        const bool wide = packedRows<kWidth>(given.hidden, e.table, e.positions, e.x);
        launch(wide ? embedKernel<kWidth, T> : embedKernel<1, T>,
               tokenGrid(given, wide ? kWidth : 1), stream, e);
    });
}

template <class T, class G>
void addEmbeddingGradientsOf(const DeviceEmbedding& given,
                             const DeviceEmbeddingGradients& gradients, void* stream) {
    constexpr int kWidth = kPackOf<T>;
    const EmbeddingGradient<T, G> e{tokensOf(given), static_cast<const T*>(gradients.dx),
                                    static_cast<G*>(gradients.table),
                                    static_cast<G*>(gradients.positions), gradients.context};
    const bool wide = packedRows<kWidth>(given.hidden, e.dx, e.table, e.positions);
    Grid grid = tokenGrid(given, wide ? kWidth : 1);
    if (e.positions != nullptr) grid.blocks += static_cast<unsigned>(e.context);
    launch(wide ? embeddingGradientKernel<kWidth, T, G> : embeddingGradientKernel<1, T, G>, grid,
           stream, e);
}

inline void addEmbeddingGradients(const DeviceEmbedding& given,
                                  const DeviceEmbeddingGradients& gradients, void* stream) {
    if (given.tokens <= 0) return;
    withType(given.dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        gradients.gradientType == given.dtype
            ? addEmbeddingGradientsOf<T, T>(given, gradients, stream)
            : addEmbeddingGradientsOf<T, float>(given, gradients, stream);
    });
}

inline void adamW(const StepUpdate* update, std::int64_t n, std::int64_t decaying, float* parameter,
                  const float* gradient, float* firstMoment, float* secondMoment, void* cast,
                  void* stream) {
    if (n <= 0) return;
    const AdamWShard shard{
        n, decaying, parameter, gradient, firstMoment, secondMoment, static_cast<BFloat16*>(cast)};
    const bool wide = packed<kFlatWidth>(parameter) && packed<kFlatWidth>(gradient) &&
                      packed<kFlatWidth>(firstMoment) && packed<kFlatWidth>(secondMoment) &&
                      packed<kFlatWidth>(shard.cast);
    launch(wide ? adamWKernel<kFlatWidth> : adamWKernel<1>, flatGrid(n, wide ? kFlatWidth : 1),
           stream, update, shard);
}

/// For kernels of one thread.
inline constexpr Grid kOneWarp{1, kWarp};

inline void beginUpdate(StepUpdate* update, double stop, double change, void* stream) {
    launch(beginUpdateKernel<StepUpdate>, kOneWarp, stream, update, stop, change);
}

inline void decideUpdate(const UpdateRule& rule, StepUpdate* update, void* stream) {
    launch(decideUpdateKernel<StepUpdate>, kOneWarp, stream, rule, update);
}

/// Of a softmax over rows of T.
template <class T>
Grid softmaxGrid(const DeviceLogits& logits) {
    return rowGrid(logits.rows, logits.width, kPackOf<T>);
}

inline void softmaxCrossEntropy(const DeviceLogits& logits, const std::int64_t* targets,
                                float scale, bool gradient, double* loss, void* stream) {
    if (logits.rows <= 0) return;
    withType(logits.dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        launch(softmaxCrossEntropyKernel<T>, softmaxGrid<T>(logits), stream,
               static_cast<T*>(logits.data), logits.width, logits.stride, targets, scale, gradient,
               loss);
    });
}

inline void softmaxStatistics(const DeviceLogits& logits, std::int64_t firstColumn,
                              const std::int64_t* targets, float* statistics, void* stream) {
    if (logits.rows <= 0) return;
    withType(logits.dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        launch(softmaxStatisticsKernel<T>, softmaxGrid<T>(logits), stream,
               static_cast<const T*>(logits.data), logits.width, logits.stride, firstColumn,
               targets, reinterpret_cast<RowStatistics*>(statistics));
    });
}

inline void softmaxGradient(const DeviceLogits& logits, std::int64_t firstColumn,
                            const std::int64_t* targets, const float* statistics, float scale,
                            void* stream) {
    if (logits.rows <= 0) return;
    withType(logits.dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        launch(softmaxGradientKernel<T>, softmaxGrid<T>(logits), stream,
               static_cast<T*>(logits.data), logits.width, logits.stride, firstColumn, targets,
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

inline constexpr DeviceKernels kTable{&adamW,           &softmaxCrossEntropy,  &softmaxStatistics,
                                      &softmaxGradient, &accumulate,           &sumOfSquares,
                                      &beginUpdate,     &decideUpdate,         &normForward,
                                      &normBackward,    &activation,           &activationBackward,
                                      &embed,           &addEmbeddingGradients};

}  // namespace shardscope::kernels::device
