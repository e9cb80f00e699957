// What a RunConfig implies: parameters and FLOPs (model_theory.h), memory (memory_theory.h),
// traffic and the events a step must contain. Pure functions, torch-free.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/run/theory/memory_theory.h"
#include "engine/run/theory/model_theory.h"
#include "storage/model/events.h"

#include <cstdint>
#include <vector>

namespace shardscope::theory {

/// Ranks that share one copy of the state: all that have the same part of the model, or a group of
/// hsdp.
[[nodiscard]] std::int32_t shardRanks(const run::RunConfig& config);

/// What one training step of one rank must contain (no evaluation).
struct StepContents {
    std::int32_t gathers = 0;
    std::int32_t reductions = 0;
    /// Forward, recompute, head, backward, clip, optimizer phases; an exchange inside one divides
    /// it.
    std::int32_t phases = 0;
    std::int32_t updateGathers = 0;  ///< of `gathers`: none where the update is skipped
    std::int32_t exchanges = 0;      ///< of a tensor group: sums and gathers of activations
};
/// Of a rank of that place in its tensor group: the last may have fewer pieces of the vocabulary.
[[nodiscard]] StepContents stepContents(const run::RunConfig& config, std::int32_t tensor = 0);

/// What a tensor group exchanges in a step: collectives of one kind and size.
struct Exchange {
    CollectiveOp operation = CollectiveOp::kAllReduce;
    Cause cause = Cause::kActivation;
    std::int64_t count = 0;
    Bytes size;  ///< CollectiveReport::sizeBytes of each
};
/// N rows of C, T ranks, L blocks, each of A micro-steps: without --sequence one all-reduce of N C
/// for the embedding, two in the forward and two in the backward of a block (Shoeybi et al., arXiv
/// 1909.08053, figure 4), one below the head; with it each becomes a gather and a reduce-scatter of
/// as much (Korthikanti et al., arXiv 2205.05198, figure 5), and gathered rows are gathered again
/// in backward; then norms' gradients are summed by unit. The head exchanges three fp32 statistics
/// of each row. Empty where layers are whole.
[[nodiscard]] std::vector<Exchange> exchangesPerStep(const run::RunConfig& config);

/// Bytes a rank receives or sends in one step: gathers and reductions, ring factor (W-1)/W. With
/// P bytes of parameters, A micro-steps: ddp, zero1 and zero3 --keep-gathered 2 P; zero2 (A + 1) P;
/// zero3 --keep-gradients (2 A + 1) P, else 3 A P, less a block per micro-step that backward finds
/// still gathered, more the root once that the head needs again (Rajbhandari et al., arXiv
/// 1910.02054). P is a rank's part of the model where layers are divided, W the ranks that have the
/// same; what a tensor group exchanges comes on top.
[[nodiscard]] Bytes trafficPerStep(const run::RunConfig& config);

/// Tokens of one step over all ranks; those of a tensor group see the same.
[[nodiscard]] std::int64_t tokensPerStep(const run::RunConfig& config);

}  // namespace shardscope::theory
