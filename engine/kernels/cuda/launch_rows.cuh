// Launches of activation.cuh and embedding.cuh. Included as device_table.cuh says.
#pragma once

#include "engine/kernels/cuda/activation.cuh"
#include "engine/kernels/cuda/embedding.cuh"
#include "engine/kernels/cuda/launch_shapes.cuh"

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

}  // namespace shardscope::kernels::device
