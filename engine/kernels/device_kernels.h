// Our own kernels as a table that the CUDA module fills in. Each has a CPU twin with the same
// arithmetic in this folder. All pointers are device memory; all calls only queue work on
// `stream` (cudaStream_t) and throw control::DeviceError when the launch is refused.
#pragma once

#include "engine/kernels/device_operands.h"
#include "engine/kernels/step_update.h"
#include "storage/model/events.h"

#include <cstdint>

namespace shardscope::kernels {

struct DeviceKernels {
    /// AdamW by `update`, if that applies, over a flat fp32 shard of n elements, the first
    /// `decaying` of them with weight decay; `cast`, when not null, receives the new parameters in
    /// bf16.
    void (*adamW)(const StepUpdate* update, std::int64_t n, std::int64_t decaying, float* parameter,
                  const float* gradient, float* firstMoment, float* secondMoment, void* cast,
                  void* stream) = nullptr;

    /// Targets (rows). *loss += sum of -log p[target]. With `gradient` the logits become
    /// scale * (p - onehot), in place.
    void (*softmaxCrossEntropy)(const DeviceLogits& logits, const std::int64_t* targets,
                                float scale, bool gradient, double* loss, void* stream) = nullptr;

    /// The same over pieces of a row's columns: logits of the columns from `firstColumn` on. Takes
    /// them into statistics (rows): largest, sum of exp(logit - largest), target's logit; which
    /// start as -inf, 0, 0.
    void (*softmaxStatistics)(const DeviceLogits& logits, std::int64_t firstColumn,
                              const std::int64_t* targets, float* statistics,
                              void* stream) = nullptr;
    /// With those of whole rows, logits become scale * (p - onehot), in place.
    void (*softmaxGradient)(const DeviceLogits& logits, std::int64_t firstColumn,
                            const std::int64_t* targets, const float* statistics, float scale,
                            void* stream) = nullptr;

    /// out[i] (+)= in[i]; `in` fp32, bf16 or fp16, out fp32.
    void (*accumulate)(const void* in, DataType dtype, float* out, std::int64_t n, bool add,
                       void* stream) = nullptr;

    /// *out += sum of squares, in double.
    void (*sumOfSquares)(const float* values, std::int64_t n, double* out, void* stream) = nullptr;

    /// Sums of nothing yet but two votes.
    void (*beginUpdate)(StepUpdate* update, double stop, double change, void* stream) = nullptr;
    void (*decideUpdate)(const UpdateRule& rule, StepUpdate* update, void* stream) = nullptr;

    void (*normForward)(const DeviceNormForward& norm, void* stream) = nullptr;
    void (*normBackward)(const DeviceNormBackward& norm, void* stream) = nullptr;

    void (*activation)(const DeviceActivation& activation, void* stream) = nullptr;
    /// Gives y again beside its gradients.
    void (*activationBackward)(const DeviceActivation& activation, void* stream) = nullptr;

    /// x (tokens, hidden) = the tokens' rows of the table plus those of `positions` (context,
    /// hidden), which may be null; with `add` rows of the table are added to x instead.
    void (*embed)(const DeviceEmbedding& embedding, const void* table, const void* positions,
                  std::int64_t context, void* x, bool add, void* stream) = nullptr;
    /// One row's gradients are summed in fp32 in the order of the tokens, without atomics; by
    /// tokens² / 2 comparisons.
    void (*addEmbeddingGradients)(const DeviceEmbedding& embedding,
                                  const DeviceEmbeddingGradients& gradients,
                                  void* stream) = nullptr;
};

/// Null until the CUDA module is loaded; set once before the first step.
[[nodiscard]] const DeviceKernels* deviceKernels();
void useDeviceKernels(const DeviceKernels* table);

}  // namespace shardscope::kernels
