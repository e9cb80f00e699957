// Our own kernels as a table that the CUDA module fills in. Each has a CPU twin with the same
// arithmetic in this folder. All pointers are device memory; all calls only queue work on
// `stream` (cudaStream_t) and throw control::DeviceError when the launch is refused.
#pragma once

#include "engine/kernels/adamw.h"
#include "storage/model/events.h"

#include <cstdint>

namespace shardscope::kernels {

struct DeviceKernels {
    /// AdamW over a flat fp32 shard of n elements, the first `decaying` of them with weight
    /// decay; `cast`, when not null, receives the new parameters in bf16.
    void (*adamW)(const AdamWStep& step, std::int64_t n, std::int64_t decaying, float* parameter,
                  const float* gradient, float* firstMoment, float* secondMoment, void* cast,
                  void* stream);

    /// logits (rows, width) in fp32, bf16 or fp16, targets (rows). *loss += sum of -log p[target].
    /// With `gradient` the logits become scale * (p - onehot), in place.
    void (*softmaxCrossEntropy)(void* logits, DataType dtype, std::int64_t rows, std::int64_t width,
                                const std::int64_t* targets, float scale, bool gradient,
                                double* loss, void* stream);

    /// The same over pieces of a row's columns: logits (rows, width) of the columns from
    /// `firstColumn` on. Takes them into statistics (rows): largest, sum of exp(logit - largest),
    /// target's logit; which start as -inf, 0, 0.
    void (*softmaxStatistics)(const void* logits, DataType dtype, std::int64_t rows,
                              std::int64_t width, std::int64_t firstColumn,
                              const std::int64_t* targets, float* statistics, void* stream);
    /// With those of whole rows, logits become scale * (p - onehot), in place.
    void (*softmaxGradient)(void* logits, DataType dtype, std::int64_t rows, std::int64_t width,
                            std::int64_t firstColumn, const std::int64_t* targets,
                            const float* statistics, float scale, void* stream);

    /// out[i] (+)= in[i]; `in` fp32, bf16 or fp16, out fp32.
    void (*accumulate)(const void* in, DataType dtype, float* out, std::int64_t n, bool add,
                       void* stream);

    /// *out += sum of squares, in double.
    void (*sumOfSquares)(const float* values, std::int64_t n, double* out, void* stream);
};

/// Null until the CUDA module is loaded; set once before the first step.
[[nodiscard]] const DeviceKernels* deviceKernels();
void useDeviceKernels(const DeviceKernels* table);

}  // namespace shardscope::kernels
