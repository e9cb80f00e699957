// Sizes that the engine works by and memory theory counts.
#pragma once

#include "engine/run/config/model_tensors.h"
#include "engine/run/config/run_config.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace shardscope::theory {

/// Logits that the fused head holds at a time: 8 MiB of fp32, so that they stay near the core.
inline constexpr std::int64_t kHostLogitChunk = std::int64_t{2} << 20;
/// The same on a GPU: 256 MiB of bf16, enough rows to fill it.
inline constexpr std::int64_t kDeviceLogitChunk = std::int64_t{128} << 20;

struct LogitBuffer {
    std::int64_t rows = 0;
    std::int64_t stride = 0;  ///< elements from row to row
};

/// For `tokens` rows of `width` logits. On a GPU rows are padded so that each begins where cuBLAS's
/// 16-byte kernels take it; GPT-2's 50,257 logits leave every row but the first at an odd address.
[[nodiscard]] constexpr LogitBuffer logitBuffer(bool device, std::int64_t tokens,
                                                std::int64_t width) {
    const std::int64_t stride = device ? run::alignedColumns(width) : width;
    const std::int64_t most = device ? kDeviceLogitChunk : kHostLogitChunk;
    return {std::clamp<std::int64_t>(most / stride, 1, tokens), stride};
}

// How many scores the blocked kernel of attention holds at a time: it works by it, memory theory
// counts it.

/// 512 KiB of fp32: they stay in the second-level cache.
inline constexpr std::int64_t kScoreFloats = std::int64_t{1} << 17;

/// Heads whose (context, context) scores are held at a time, at least one; `heads` of all rows of
/// the batch.
[[nodiscard]] constexpr std::int64_t headsAtATime(std::int64_t context, std::int64_t heads) {
    return std::clamp<std::int64_t>(kScoreFloats / (context * context), 1, heads);
}

// What ranks that share layers exchange besides rows: the engine makes room for it, theory counts
// it.

/// Of a row, that a softmax over a divided vocabulary takes (engine/kernels/cross_entropy.h).
inline constexpr std::int64_t kRowStatistics = 3;
/// Of a block: weights and biases of two norms.
inline constexpr std::int64_t kBlockVectors = 4;

// How DDP cuts the gradients that it sends: the schedule works by it, theory counts by it.

/// fp32 elements of a bucket, at least one.
[[nodiscard]] inline std::int64_t bucketElements(const run::RunConfig& config) {
    constexpr double kBytesAMegabyte = 1e6;
    return std::max<std::int64_t>(1, std::llround(config.bucketMegabytes * kBytesAMegabyte / 4));
}

/// Of a piece of `count` elements, how many top-k sends.
[[nodiscard]] inline std::int64_t keptElements(double keptFraction, std::int64_t count) {
    return std::clamp<std::int64_t>(std::llround(keptFraction * static_cast<double>(count)), 1,
                                    count);
}

// In which pieces rows travel between hosts (engine/comm/rails.h works by it, memory theory counts
// it), and so what a rank's buffers for them take.

/// Large enough that its messages and meetings cost little: of half a megabyte they did, where
/// ranks share cores. Two and four megabytes were no faster.
inline constexpr std::int64_t kRailPieceBytes = std::int64_t{1} << 20;
/// Of a rank's staging memory, whatever the number of hosts.
inline constexpr std::int64_t kMostStagingBytes = std::int64_t{32} << 20;
/// Pieces on their way at a time.
inline constexpr std::int64_t kPiecesInFlight = 4;

/// Of one piece; whole cache lines.
[[nodiscard]] constexpr std::int64_t railPieceBytes(std::int64_t hosts) {
    constexpr std::int64_t kLine = 64;
    const std::int64_t others = std::max<std::int64_t>(hosts - 1, 1);
    return std::min(kRailPieceBytes, kMostStagingBytes / kPiecesInFlight / others / kLine * kLine);
}

/// Shared memory in which a rank lays down what it gathers from other hosts; 0 where no rank is
/// there to share it with.
[[nodiscard]] constexpr std::int64_t railStagingBytes(std::int64_t hosts, std::int64_t perHost) {
    if (hosts == 1 || perHost == 1) return 0;
    return kPiecesInFlight * (hosts - 1) * railPieceBytes(hosts);
}

/// Buffers of a piece that is summed: one comes, one is summed, one goes; two hosts pass nothing
/// on.
[[nodiscard]] constexpr std::int64_t railSumBuffers(std::int64_t hosts) {
    return std::min<std::int64_t>(hosts, 3);
}

/// Elements of a piece that is summed, in fp32, of a rank's part of `part` elements.
[[nodiscard]] constexpr std::int64_t railSumElements(std::int64_t hosts, std::int64_t part) {
    return std::min(railPieceBytes(hosts) / std::int64_t{sizeof(float)}, part);
}

/// In which a rank sums its part of `part` elements over hosts.
[[nodiscard]] constexpr std::int64_t railSumBytes(std::int64_t hosts, std::int64_t part) {
    if (hosts == 1) return 0;
    return kPiecesInFlight * railSumBuffers(hosts) * railSumElements(hosts, part) *
           std::int64_t{sizeof(float)};
}

// Sizes that memory and traffic have in common. Internal to engine/theory.

inline constexpr std::int64_t kFloatBytes = 4;

/// Of parameters in use, activations and logits.
[[nodiscard]] inline std::int64_t computeBytes(const run::RunConfig& config) {
    const bool narrow = config.precision == run::Precision::kBFloat16 ||
                        config.precision == run::Precision::kFloat16;
    return narrow ? 2 : kFloatBytes;
}

/// Of a unit's whole gradients where they are reduced in every micro-step.
[[nodiscard]] inline std::int64_t gradientBytes(const run::RunConfig& config) {
    return config.reduceIn == run::GradientType::kBFloat16 ? 2 : kFloatBytes;
}

/// Elements of a unit's flat buffer, which splits into equal shards of whole cache lines
/// (engine/parallel/views.h).
[[nodiscard]] inline std::int64_t padded(std::int64_t count, std::int64_t ranks) {
    constexpr std::int64_t kCacheLineFloats = 16;
    const std::int64_t step = ranks * kCacheLineFloats;
    return (count + step - 1) / step * step;
}

/// Parameters of a rank's part of the model: of the first of its tensor group, which has most.
struct PartCounts {
    std::int64_t outside = 0;  ///< of the blocks
    std::int64_t block = 0;
    std::int64_t all = 0;
};
[[nodiscard]] PartCounts partCounts(const run::RunConfig& config);

/// Whether gradients are reduced in every micro-step; else they are added up and reduced in the
/// last.
[[nodiscard]] bool reducesEachMicroStep(const run::RunConfig& config);

/// Elements of the pieces in which DDP sends the gradients of a step.
[[nodiscard]] std::vector<std::int64_t> ddpPieces(const run::RunConfig& config);

}  // namespace shardscope::theory
