// Bytes that a rank holds, by category, at the moments of a training step; on a GPU those of its
// memory, not what --offload keeps on the host. Pure functions, torch-free. All ranks of a run hold
// the same.
//
// What operators keep and use is that of engine/kernels and engine/gpt; what is held in flat
// buffers, padding included, that of engine/parallel.
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/events.h"
#include "storage/model/words.h"

#include <array>
#include <vector>

namespace shardscope::theory {

/// Bytes by category (index: MemoryCategory).
using MemoryByCategory = std::array<Bytes, kMemoryCategoryCount>;
[[nodiscard]] Bytes total(const MemoryByCategory& categories);

enum class Moment : std::uint8_t {
    kLoading,          ///< initial values are made, parameter by parameter
    kInitialised,      ///< before the first step
    kForward,          ///< in the last block's forward
    kHead,             ///< in the head, where the logits are
    kBackward,         ///< in the backward of the block at which most is held
    kBeforeOptimizer,  ///< gradients are reduced
    kAfterOptimizer,   ///< what the next step starts with is being gathered
};
constexpr auto wordsOf(Moment) {
    return wordList<Word<Moment>>({{Moment::kLoading, "loading"},
                                   {Moment::kInitialised, "initialised"},
                                   {Moment::kForward, "forward"},
                                   {Moment::kHead, "head"},
                                   {Moment::kBackward, "backward"},
                                   {Moment::kBeforeOptimizer, "before optimizer"},
                                   {Moment::kAfterOptimizer, "after optimizer"}});
}

/// How operators were chosen where that changes what they keep.
struct KernelChoice {
    /// Flash attention keeps its output and log-sum-exp for backward, the blocked one neither, but
    /// holds whole matrices of scores while it works.
    bool flashAttention = true;
    [[nodiscard]] const char* attention() const { return flashAttention ? "flash" : "blocked"; }
};
/// What a run may choose, what holds most at its peak first: two where fp32 ranks on CPUs time both
/// kernels of attention when they start, else one.
[[nodiscard]] std::vector<KernelChoice> kernelChoices(const run::RunConfig& config);

[[nodiscard]] MemoryByCategory memoryAt(const run::RunConfig& config, Moment moment,
                                        const KernelChoice& kernels);
/// The moment at which most is held.
[[nodiscard]] Moment peakMoment(const run::RunConfig& config, const KernelChoice& kernels);
/// memoryAt(peakMoment)
[[nodiscard]] MemoryByCategory memoryTheory(const run::RunConfig& config,
                                            const KernelChoice& kernels);

// The same before a run, which holds at most so much: by the first of its choices.
[[nodiscard]] MemoryByCategory memoryAt(const run::RunConfig& config, Moment moment);
[[nodiscard]] Moment peakMoment(const run::RunConfig& config);
[[nodiscard]] MemoryByCategory memoryTheory(const run::RunConfig& config);

/// Parameters, gradients and two moments that a rank keeps from step to step. In fp32 16 B a
/// parameter, of which zero1 divides the moments by the ranks, zero2 the gradients as well and
/// zero3 all (hsdp by the ranks of a group); bf16 and fp16 keep a narrow copy of the parameters
/// beside the fp32 master, which goes with the moments: 18 B. Offloaded fp32 keeps a master as
/// well: 20 B. Wherever it lies, without padding.
[[nodiscard]] Bytes stateTheory(const run::RunConfig& config);
/// Of that what --offload keeps in host memory, padding included.
[[nodiscard]] Bytes hostStateTheory(const run::RunConfig& config);

}  // namespace shardscope::theory
