// Softmax cross entropy with its gradient in place, a block a row; rows lie `stride` apart.
//
// One pass finds maximum and sum of exponentials together (online softmax, Milakov & Gimelshein,
// arXiv 1805.02867), a second one turns logits into gradients; a row of 50 thousand bf16 logits
// is still in the caches then. -inf is a masked logit; a row without any other, a NaN or +inf
// make the loss NaN, as on the CPU.
#pragma once

#include "engine/kernels/cuda/block_reduce.cuh"
#include "engine/kernels/cuda/pack.cuh"

#include <cmath>
#include <cstdint>

namespace shardscope::kernels::device {

/// sum over some logits of exp(x - maximum)
struct SoftmaxPart {
    float maximum;
    float sum;
};

/// What to subtract before exp: the maximum, unless everything so far is masked.
__device__ __forceinline__ float softmaxOrigin(float maximum) {
    return maximum == -INFINITY ? 0.0F : maximum;
}

__device__ __forceinline__ SoftmaxPart combine(SoftmaxPart a, SoftmaxPart b) {
    const float maximum = fmaxf(a.maximum, b.maximum);
    const float origin = softmaxOrigin(maximum);
    return {maximum, a.sum * __expf(a.maximum - origin) + b.sum * __expf(b.maximum - origin)};
}

__device__ __forceinline__ SoftmaxPart shuffleXor(SoftmaxPart part, unsigned mask) {
    return {shuffleXor(part.maximum, mask), shuffleXor(part.sum, mask)};
}

/// Element k of a row: [0, head) and [tail, width) one by one, what is between in packs.
struct RowSplit {
    std::int64_t head = 0;
    std::int64_t packs = 0;
    std::int64_t tail = 0;
};

template <int kWidth, class T>
__device__ __forceinline__ RowSplit splitRow(const T* row, std::int64_t width) {
    const auto past =
        static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(row) / sizeof(T) % kWidth);
    RowSplit split;
    split.head = past == 0 ? 0 : kWidth - past;
    if (split.head > width) split.head = width;
    split.packs = (width - split.head) / kWidth;
    split.tail = split.head + split.packs * kWidth;
    return split;
}

/// Calls visit.elements<count>(first) for this thread's part of the row.
template <int kWidth, class Visit>
__device__ __forceinline__ void visitRow(const RowSplit& split, std::int64_t width,
                                         const Visit& visit) {
    for (std::int64_t i = threadIdx.x; i < split.packs; i += blockDim.x)
        visit.template elements<kWidth>(split.head + i * kWidth);
    for (std::int64_t i = threadIdx.x; i < split.head; i += blockDim.x)
        visit.template elements<1>(i);
    for (std::int64_t i = split.tail + threadIdx.x; i < width; i += blockDim.x)
        visit.template elements<1>(i);
}

template <class T>
struct SoftmaxStatistics {
    const T* row;
    SoftmaxPart* part;

    template <int kWidth>
    __device__ __forceinline__ void elements(std::int64_t first) const {
        const Pack<T, kWidth> pack = packAt<kWidth>(row, first);
        float maximum = part->maximum;
        for (int k = 0; k < kWidth; ++k) maximum = fmaxf(maximum, toFloat(pack.at[k]));
        const float origin = softmaxOrigin(maximum);
        float sum = part->sum * __expf(part->maximum - origin);
        for (int k = 0; k < kWidth; ++k) sum += __expf(toFloat(pack.at[k]) - origin);
        *part = {maximum, sum};
    }
};

template <class T>
struct SoftmaxGradient {
    T* row;
    SoftmaxPart part;
    std::int64_t target;
    float scale;

    template <int kWidth>
    __device__ __forceinline__ void elements(std::int64_t first) const {
        Pack<T, kWidth> pack = packAt<kWidth>(row, first);
        const float inverse = 1.0F / part.sum;
        for (int k = 0; k < kWidth; ++k) {
            const float p = __expf(toFloat(pack.at[k]) - part.maximum) * inverse;
            const float wanted = first + k == target ? 1.0F : 0.0F;
            pack.at[k] = fromFloat<T>(scale * (p - wanted));
        }
        packAt<kWidth>(row, first) = pack;
    }
};

template <class T>
__global__ void softmaxCrossEntropyKernel(T* logits, std::int64_t width, std::int64_t stride,
                                          const std::int64_t* targets, float scale, bool gradient,
                                          double* loss) {
    constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
    T* const row = logits + static_cast<std::int64_t>(blockIdx.x) * stride;
    const std::int64_t target = targets[blockIdx.x];
    // Before the reduction's barrier: after it the row becomes the gradient.
    const float wanted = threadIdx.x == 0 ? toFloat(row[target]) : 0.0F;
    const RowSplit split = splitRow<kWidth>(row, width);

    SoftmaxPart part{-INFINITY, 0.0F};
    visitRow<kWidth>(split, width, SoftmaxStatistics<T>{row, &part});
    part = blockReduce(part, SoftmaxPart{-INFINITY, 0.0F},
                       [](SoftmaxPart a, SoftmaxPart b) { return combine(a, b); });
    if (threadIdx.x == 0) {
        atomicAdd(loss, log(static_cast<double>(part.sum)) +
                            (static_cast<double>(part.maximum) - static_cast<double>(wanted)));
    }
    if (gradient) visitRow<kWidth>(split, width, SoftmaxGradient<T>{row, part, target, scale});
}

/// Largest, sum of exponentials and the target's logit of a row, taken in piece by piece.
struct RowStatistics {
    SoftmaxPart part;
    float wanted;
};

template <class T>
__global__ void softmaxStatisticsKernel(const T* logits, std::int64_t width, std::int64_t stride,
                                        std::int64_t firstColumn, const std::int64_t* targets,
                                        RowStatistics* statistics) {
    constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
    const T* const row = logits + static_cast<std::int64_t>(blockIdx.x) * stride;
    SoftmaxPart part{-INFINITY, 0.0F};
    visitRow<kWidth>(splitRow<kWidth>(row, width), width, SoftmaxStatistics<T>{row, &part});
    part = blockReduce(part, SoftmaxPart{-INFINITY, 0.0F},
                       [](SoftmaxPart a, SoftmaxPart b) { return combine(a, b); });
    if (threadIdx.x != 0) return;
    RowStatistics& sum = statistics[blockIdx.x];
    sum.part = combine(sum.part, part);
    const std::int64_t target = targets[blockIdx.x] - firstColumn;
    if (target >= 0 && target < width) sum.wanted = toFloat(row[target]);
}

template <class T>
__global__ void softmaxGradientKernel(T* logits, std::int64_t width, std::int64_t stride,
                                      std::int64_t firstColumn, const std::int64_t* targets,
                                      const RowStatistics* statistics, float scale) {
    constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
    T* const row = logits + static_cast<std::int64_t>(blockIdx.x) * stride;
    visitRow<kWidth>(splitRow<kWidth>(row, width), width,
                     SoftmaxGradient<T>{row, statistics[blockIdx.x].part,
                                        targets[blockIdx.x] - firstColumn, scale});
}

}  // namespace shardscope::kernels::device
