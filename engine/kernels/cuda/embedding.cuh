// Token and position embeddings, a block a token, and their gradients.
#pragma once

#include "engine/kernels/cuda/block_reduce.cuh"
#include "engine/kernels/cuda/pack.cuh"

#include <cstdint>

namespace shardscope::kernels::device {

/// Where a table's rows are, and the tokens.
struct EmbeddedTokens {
    std::int64_t tokens, hidden, firstRow, rows;
    const std::int64_t* ids;

    /// In the table; below 0 when the token lies outside of it.
    __device__ std::int64_t rowOf(std::int64_t token) const {
        const std::int64_t row = ids[token] - firstRow;
        return row < rows ? row : -1;
    }
};

template <class T>
struct Embedding {
    EmbeddedTokens at;
    const T* table;
    const T* positions;  ///< null: none
    std::int64_t context;
    T* x;
    bool add;
};

template <int kWidth, class T>
__global__ void embedKernel(Embedding<T> e) {
    const std::int64_t row = e.at.rowOf(blockIdx.x), hidden = e.at.hidden;
    if (e.add && row < 0) return;
    for (std::int64_t i = threadIdx.x * kWidth; i < hidden; i += blockDim.x * kWidth) {
        Pack<T, kWidth> found{}, before{};
        if (row >= 0) found = packAt<kWidth>(e.table, row * hidden + i);
        T* const x = e.x + blockIdx.x * hidden;
        const bool positions = e.positions != nullptr;
        if (e.add) before = packAt<kWidth>(x, i);
        if (positions) before = packAt<kWidth>(e.positions, blockIdx.x % e.context * hidden + i);
        for (int k = 0; k < kWidth; ++k) {
            const float sum = (row < 0 ? 0.0F : toFloat(found.at[k])) +
                              (e.add || positions ? toFloat(before.at[k]) : 0.0F);
            found.at[k] = fromFloat<T>(sum);
        }
        packAt<kWidth>(x, i) = found;
    }
}

template <class T, class G>
struct EmbeddingGradient {
    EmbeddedTokens at;
    const T* dx;
    G* table;
    G* positions;  ///< null: none
    std::int64_t context;
};

template <int kWidth, class G>
__device__ __forceinline__ void addPack(G* gradient, std::int64_t at,
                                        const Pack<float, kWidth>& sum) {
    Pack<G, kWidth> out = packAt<kWidth>(gradient, at);
    for (int k = 0; k < kWidth; ++k) out.at[k] = fromFloat<G>(toFloat(out.at[k]) + sum.at[k]);
    packAt<kWidth>(gradient, at) = out;
}

/// The block of a position sums its rows of the batch, in order.
template <int kWidth, class T, class G>
__device__ __forceinline__ void positionGradient(const EmbeddingGradient<T, G>& e,
                                                 std::int64_t position) {
    const std::int64_t hidden = e.at.hidden;
    for (std::int64_t i = threadIdx.x * kWidth; i < hidden; i += blockDim.x * kWidth) {
        Pack<float, kWidth> sum{};
#ifdef __CUDACC__
#pragma unroll 4
#endif
        for (std::int64_t token = position; token < e.at.tokens; token += e.context) {
            const Pack<T, kWidth> more = packAt<kWidth>(e.dx, token * hidden + i);
            for (int k = 0; k < kWidth; ++k) sum.at[k] += toFloat(more.at[k]);
        }
        addPack(e.positions, position * hidden + i, sum);
    }
}

/// Whether no earlier token is the same; asked by a whole block.
__device__ __forceinline__ bool firstOfItsKind(const std::int64_t* ids, std::int64_t token) {
    bool earlier = false;
    for (std::int64_t i = token - 1 - threadIdx.x; i >= 0 && !earlier; i -= blockDim.x)
        earlier = ids[i] == ids[token];
    return blockReduce(static_cast<int>(earlier), 0, [](int a, int b) { return a | b; }) == 0;
}

/// Which of the tokens [begin, begin + blockDim) are like `token`, in order: found by a whole block
/// that has passed a barrier since it used `list`. Returns how many.
__device__ __forceinline__ unsigned sameTokens(const EmbeddedTokens& at, std::int64_t token,
                                               std::int64_t begin, unsigned* list) {
    __shared__ unsigned masks[kWarp];
    const std::int64_t mine = begin + threadIdx.x;
    const bool same = mine < at.tokens && at.ids[mine] == at.ids[token];
    const unsigned mask = __ballot_sync(0xffffffffu, same);
    const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    if (lane == 0) masks[warp] = mask;
    __syncthreads();
    unsigned before = 0, all = 0;
    for (unsigned i = 0; i < blockDim.x / kWarp; ++i) {
        if (i < warp) before += static_cast<unsigned>(__popc(masks[i]));
        all += static_cast<unsigned>(__popc(masks[i]));
    }
    if (same) list[before + static_cast<unsigned>(__popc(mask & ((1u << lane) - 1)))] = threadIdx.x;
    __syncthreads();
    return all;
}

/// The block of the first token of its kind sums the rows of all later ones, in order.
template <int kWidth, class T, class G>
__device__ __forceinline__ void tokenGradient(const EmbeddingGradient<T, G>& e,
                                              std::int64_t token) {
    __shared__ unsigned list[1024];
    const std::int64_t row = e.at.rowOf(token), hidden = e.at.hidden;
    if (row < 0 || !firstOfItsKind(e.at.ids, token)) return;  // the whole block
    for (std::int64_t tile = 0; tile < hidden; tile += blockDim.x * kWidth) {
        const std::int64_t i = tile + threadIdx.x * kWidth;
        Pack<float, kWidth> sum{};
        for (std::int64_t begin = token; begin < e.at.tokens; begin += blockDim.x) {
            const unsigned count = sameTokens(e.at, token, begin, list);
#ifdef __CUDACC__
#pragma unroll 4
#endif
            for (unsigned n = 0; n < count && i < hidden; ++n) {
                const Pack<T, kWidth> more = packAt<kWidth>(e.dx, (begin + list[n]) * hidden + i);
                for (int k = 0; k < kWidth; ++k) sum.at[k] += toFloat(more.at[k]);
            }
            __syncthreads();
        }
        if (i < hidden) addPack(e.table, row * hidden + i, sum);
    }
}

/// Blocks of the tokens, then those of positions.
template <int kWidth, class T, class G>
__global__ void embeddingGradientKernel(EmbeddingGradient<T, G> e) {
    const std::int64_t block = blockIdx.x;
    if (block < e.at.tokens) return tokenGradient<kWidth>(e, block);
    positionGradient<kWidth>(e, block - e.at.tokens);
}

}  // namespace shardscope::kernels::device
