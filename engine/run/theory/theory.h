// What a RunConfig implies: parameters and FLOPs (model_theory.h), memory (memory_theory.h),
// traffic and the events a step must contain. Pure functions, torch-free.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/run/theory/memory_theory.h"
#include "engine/run/theory/model_theory.h"
#include "storage/model/events.h"

#include <cstdint>

namespace shardscope::theory {

/// Ranks that share one copy of the state: all, or a group of hsdp.
[[nodiscard]] std::int32_t shardRanks(const run::RunConfig& config);

/// What one training step of one rank must contain (no evaluation).
struct StepContents {
    std::int32_t gathers = 0;
    std::int32_t reductions = 0;
    std::int32_t phases = 0;         ///< forward, recompute, head, backward, clip, optimizer phases
    std::int32_t updateGathers = 0;  ///< of `gathers`: none where the update is skipped
};
[[nodiscard]] StepContents stepContents(const run::RunConfig& config);

/// Bytes a rank receives or sends in one step: gathers and reductions, ring factor (W-1)/W. With
/// P bytes of parameters, A micro-steps: ddp, zero1 and zero3 --keep-gathered 2 P; zero2 (A + 1) P;
/// zero3 --keep-gradients (2 A + 1) P, else 3 A P, less a block per micro-step that backward finds
/// still gathered, more the root once that the head needs again (Rajbhandari et al., arXiv
/// 1910.02054).
[[nodiscard]] Bytes trafficPerStep(const run::RunConfig& config);

/// Tokens of one step over all ranks.
[[nodiscard]] std::int64_t tokensPerStep(const run::RunConfig& config);

}  // namespace shardscope::theory
