// AdamW over a flat shard: engine/kernels/adamw.cpp's arithmetic, in its order, an element a
// step. Bound by memory: 28 bytes an element, 30 with the cast. What it does is decided on the
// device as well, by one thread.
#pragma once

#include "engine/kernels/cuda/pack.cuh"
#include "engine/kernels/step_update.h"

#include <cstdint>

namespace shardscope::kernels::device {

struct AdamWShard {
    std::int64_t n = 0;
    std::int64_t decaying = 0;
    float* parameter = nullptr;
    const float* gradient = nullptr;
    float* firstMoment = nullptr;
    float* secondMoment = nullptr;
    BFloat16* cast = nullptr;
};

/// Returns the new parameter; both moments are replaced.
__device__ __forceinline__ float adamWElement(const AdamWConstants& c, float decay, float p,
                                              float g, float& m, float& v) {
    const float gradient = g * c.scale;
    const float first = m + c.oneMinusBeta1 * (gradient - m);
    const float second = c.beta2 * v + c.oneMinusBeta2 * gradient * gradient;
    const float denominator = sqrtf(second) * c.inverseCorrection2 + c.epsilon;
    m = first;
    v = second;
    return p * decay - c.stepSize * (first / denominator);
}

/// Elements [first, first + kWidth); the boundary of decay may lie among them.
template <int kWidth>
__device__ __forceinline__ void adamWPack(const AdamWConstants& c, const AdamWShard& shard,
                                          std::int64_t first) {
    Pack<float, kWidth> p = packAt<kWidth>(shard.parameter, first);
    const Pack<float, kWidth> g = packAt<kWidth>(shard.gradient, first);
    Pack<float, kWidth> m = packAt<kWidth>(shard.firstMoment, first);
    Pack<float, kWidth> v = packAt<kWidth>(shard.secondMoment, first);
    Pack<BFloat16, kWidth> cast;
    for (int k = 0; k < kWidth; ++k) {
        const float decay = first + k < shard.decaying ? c.decay : 1.0F;
        p.at[k] = adamWElement(c, decay, p.at[k], g.at[k], m.at[k], v.at[k]);
        cast.at[k] = fromFloat<BFloat16>(p.at[k]);
    }
    packAt<kWidth>(shard.parameter, first) = p;
    packAt<kWidth>(shard.firstMoment, first) = m;
    packAt<kWidth>(shard.secondMoment, first) = v;
    if (shard.cast != nullptr) packAt<kWidth>(shard.cast, first) = cast;
}

template <int kWidth>
__global__ void adamWKernel(const StepUpdate* update, AdamWShard shard) {
    if (update->applied == 0) return;
    const AdamWConstants constants = update->constants;
    const std::int64_t packs = shard.n / kWidth;
    for (std::int64_t i = gridThread(); i < packs; i += gridThreads())
        adamWPack<kWidth>(constants, shard, i * kWidth);
    const std::int64_t rest = packs * kWidth + gridThread();
    if (rest < shard.n) adamWPack<1>(constants, shard, rest);
}

// Templates, as several sources have this header.

template <class Update>
__global__ void beginUpdateKernel(Update* update, double stop, double change) {
    if (gridThread() == 0) update->sums = {0, 0, stop, change};
}

template <class Update>
__global__ void decideUpdateKernel(UpdateRule rule, Update* update) {
    if (gridThread() == 0) decideUpdate(rule, *update);
}

}  // namespace shardscope::kernels::device
