// What can be chosen of a run: the enumerations of RunConfig with the words that command lines, run
// files and JSON use for them.
#pragma once

#include "storage/model/words.h"

#include <cstdint>

namespace shardscope::run {

/// A word that can be chosen, what people call it, and what it does in a few words.
template <class Enum>
struct Choice {
    Enum value;
    const char* word;
    const char* name;
    const char* note = "";
};

/// layernorm: weight and bias; rmsnorm: weight only (Zhang and Sennrich, arXiv 1910.07467).
enum class Norm : std::uint8_t { kLayerNorm = 1, kRmsNorm = 2 };
constexpr auto wordsOf(Norm) {
    return wordList<Choice<Norm>>(
        {{Norm::kLayerNorm, "layernorm", "LayerNorm"}, {Norm::kRmsNorm, "rmsnorm", "RMSNorm"}});
}
/// learned: a table of T rows; rope: queries and keys rotated, base 10,000 (Su et al., arXiv
/// 2104.09864).
enum class Position : std::uint8_t { kLearned = 1, kRope = 2 };
constexpr auto wordsOf(Position) {
    return wordList<Choice<Position>>(
        {{Position::kLearned, "learned", "learned"}, {Position::kRope, "rope", "RoPE"}});
}
/// gelu: out(gelu(fc(x))); swiglu: out(silu(gate(x)) * fc(x)) (Shazeer, arXiv 2002.05202).
enum class FeedForward : std::uint8_t { kGelu = 1, kSwiglu = 2 };
constexpr auto wordsOf(FeedForward) {
    return wordList<Choice<FeedForward>>(
        {{FeedForward::kGelu, "gelu", "GELU"}, {FeedForward::kSwiglu, "swiglu", "SwiGLU"}});
}

/// ddp-*: everything whole on every rank, and how gradients are all-reduced (engine/parallel);
/// zero1, zero2, zero3: optimizer state, gradients, parameters sharded, each with those before it;
/// hsdp: zero3 inside groups of ranks, gradients all-reduced across the groups.
enum class Strategy : std::uint8_t {
    kSingle = 1,
    kZero3 = 2,
    kDdpNaive = 3,
    kDdpFlat = 4,
    kDdpOverlap = 5,
    kDdpBucket = 6,
    kZero1 = 7,
    kZero2 = 8,
    kHsdp = 9,
};
constexpr auto wordsOf(Strategy) {
    return wordList<Choice<Strategy>>(
        {{Strategy::kSingle, "single", "single", "one rank, nothing sharded"},
         {Strategy::kDdpNaive, "ddp-naive", "DDP, naive",
          "one all-reduce per parameter, after backward"},
         {Strategy::kDdpFlat, "ddp-flat", "DDP, flat",
          "one all-reduce of all gradients, after backward"},
         {Strategy::kDdpOverlap, "ddp-overlap", "DDP, overlapped",
          "one all-reduce per parameter, during backward"},
         {Strategy::kDdpBucket, "ddp-bucket", "DDP, buckets",
          "one all-reduce per bucket, during backward"},
         {Strategy::kZero1, "zero1", "ZeRO-1", "shards optimizer state"},
         {Strategy::kZero2, "zero2", "ZeRO-2", "shards optimizer state and gradients"},
         {Strategy::kZero3, "zero3", "ZeRO-3", "shards optimizer state, gradients and parameters"},
         {Strategy::kHsdp, "hsdp", "HSDP",
          "ZeRO-3 inside groups of ranks, all-reduce across them"}});
}
[[nodiscard]] constexpr bool isDdp(Strategy strategy) {
    return strategy == Strategy::kDdpNaive || strategy == Strategy::kDdpFlat ||
           strategy == Strategy::kDdpOverlap || strategy == Strategy::kDdpBucket;
}
/// What the ranks of a run do: train, or measure the machine and each other (measurement_plan.h).
enum class Work : std::uint8_t { kTraining = 1, kMeasuring = 2 };
constexpr auto wordsOf(Work) {
    return wordList<Word<Work>>({{Work::kTraining, "training"}, {Work::kMeasuring, "measuring"}});
}
enum class Device : std::uint8_t { kCpu = 1, kCuda = 2 };
constexpr auto wordsOf(Device) {
    return wordList<Choice<Device>>(
        {{Device::kCpu, "cpu", "CPU"}, {Device::kCuda, "cuda", "CUDA GPU"}});
}
/// fp32: IEEE throughout; tf32: fp32 tensors, products in TF32 (GPU only); bf16: parameters,
/// activations and products in bf16 with fp32 master weights and moments; fp16: the same in fp16
/// with a dynamic loss scale.
enum class Precision : std::uint8_t { kFloat32 = 1, kTf32 = 2, kBFloat16 = 3, kFloat16 = 4 };
constexpr auto wordsOf(Precision) {
    return wordList<Word<Precision>>({{Precision::kFloat32, "fp32"},
                                      {Precision::kTf32, "tf32"},
                                      {Precision::kBFloat16, "bf16"},
                                      {Precision::kFloat16, "fp16"}});
}
/// What gradients are summed over ranks in; this rank's part is always kept in fp32.
enum class GradientType : std::uint8_t { kFloat32 = 1, kBFloat16 = 2 };
constexpr auto wordsOf(GradientType) {
    return wordList<Word<GradientType>>(
        {{GradientType::kFloat32, "fp32"}, {GradientType::kBFloat16, "bf16"}});
}
/// What is traced on a GPU (profiler/capture/device_sink.h); automatic: by the capture level.
enum class DeviceCapture : std::uint8_t {
    kAuto = 0,
    kNever = 1,
    kIdle = 2,
    kKernels = 3,
    kLaunches = 4,
    kFull = 5
};
constexpr auto wordsOf(DeviceCapture) {
    return wordList<Choice<DeviceCapture>>(
        {{DeviceCapture::kAuto, "auto", "auto", "by the capture level"},
         {DeviceCapture::kNever, "never", "never", "no tracer"},
         {DeviceCapture::kIdle, "idle", "idle", "tracer attached only"},
         {DeviceCapture::kKernels, "kernels", "kernels", "kernels and copies"},
         {DeviceCapture::kLaunches, "launches", "launches", "also CUDA calls"},
         {DeviceCapture::kFull, "full", "full", "also waits and NCCL"}});
}
/// The kernel of causal attention; automatic: the fastest at the run's shapes, timed at its start.
enum class Attention : std::uint8_t { kAuto = 1, kFlash = 2, kBlocked = 3, kCudnn = 4 };
constexpr auto wordsOf(Attention) {
    return wordList<Choice<Attention>>(
        {{Attention::kAuto, "auto", "auto", "the fastest, timed at the start"},
         {Attention::kFlash, "flash", "flash", "FlashAttention"},
         {Attention::kBlocked, "blocked", "blocked", "our own for fp32 on CPUs"},
         {Attention::kCudnn, "cudnn", "cuDNN", "on GPUs"}});
}
/// The library of fp32 matrix products on CPUs; automatic: the faster, timed at the run's start.
enum class Products : std::uint8_t { kAuto = 1, kMkl = 2, kOneDnn = 3 };
constexpr auto wordsOf(Products) {
    return wordList<Choice<Products>>(
        {{Products::kAuto, "auto", "auto", "the faster, timed at the start"},
         {Products::kMkl, "mkl", "MKL", "with LibTorch"},
         {Products::kOneDnn, "onednn", "oneDNN", "where its library is installed"}});
}
/// Learning rate after the warm-up: a half cosine, a line, or level.
enum class Schedule : std::uint8_t { kCosine = 1, kLinear = 2, kConstant = 3 };
constexpr auto wordsOf(Schedule) {
    return wordList<Word<Schedule>>({{Schedule::kCosine, "cosine"},
                                     {Schedule::kLinear, "linear"},
                                     {Schedule::kConstant, "constant"}});
}
/// Lossy forms of what DDP sends; what is left out is added to the next step's gradient (error
/// feedback: Seide et al. 2014; Stich et al., arXiv 1809.07599).
enum class Compression : std::uint8_t { kNone = 1, kBFloat16 = 2, kTopK = 3 };
constexpr auto wordsOf(Compression) {
    return wordList<Choice<Compression>>({{Compression::kNone, "none", "none"},
                                          {Compression::kBFloat16, "bf16", "bf16, lossy"},
                                          {Compression::kTopK, "topk", "top-k, lossy"}});
}
/// What a GPU rank keeps in host memory, where the optimizer then runs: master parameters and
/// moments; and this rank's gradients too (ZeRO-Offload: Ren et al., arXiv 2101.06840).
enum class Offload : std::uint8_t { kNone = 1, kOptimizer = 2, kGradients = 3 };
constexpr auto wordsOf(Offload) {
    return wordList<Word<Offload>>({{Offload::kNone, "none"},
                                    {Offload::kOptimizer, "optimizer"},
                                    {Offload::kGradients, "gradients"}});
}
/// How ranks reach each other; automatic: NCCL between GPUs, else shared memory.
enum class Transport : std::uint8_t { kAuto = 1, kSharedMemory = 2, kGloo = 3 };
constexpr auto wordsOf(Transport) {
    return wordList<Choice<Transport>>(
        {{Transport::kAuto, "auto", "auto"},
         {Transport::kSharedMemory, "shared-memory", "shared memory"},
         {Transport::kGloo, "gloo", "Gloo"}});
}
/// Which of the engine's communicators joins the ranks of a run (communicatorOf()): what its
/// collectives cost depends on it more than on anything else.
enum class CommunicatorKind : std::uint8_t {
    kSharedMemory = 1,
    kGloo = 2,
    kHierarchical = 3,
    kNccl = 4,
    kModelled = 5,
};
struct CommunicatorKindWords {
    CommunicatorKind value;
    const char* word;
    const char* name;  ///< in tables
    const char* note;
};
constexpr auto wordsOf(CommunicatorKind) {
    return wordList<CommunicatorKindWords>(
        {{CommunicatorKind::kSharedMemory, "shared-memory", "shared memory",
          "ranks of one host read where their peers' data lies"},
         {CommunicatorKind::kGloo, "gloo", "Gloo", "a ring of all ranks over TCP"},
         {CommunicatorKind::kHierarchical, "hierarchical", "hierarchical",
          "shared memory inside a host, a ring over TCP for each place between hosts"},
         {CommunicatorKind::kNccl, "nccl", "NCCL", "GPUs"},
         {CommunicatorKind::kModelled, "modelled", "modelled link",
          "held back to a latency and bandwidth that were given, not measured"}});
}

}  // namespace shardscope::run
