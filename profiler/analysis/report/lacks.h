// What the recording of a user's program lacks, why, and how the next one has it. The one home of
// these sentences: reports, answers and pages quote them.
#pragma once

#include "storage/model/process_facts.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::analysis {

enum class Lack : std::uint8_t {
    kSteps,
    kPhases,
    kMemory,
    kOperators,
    kCollectives,
    kLoss,
    kGradientNorm,
    kModel,
    kTokens,   ///< how many a step has
    kKernels,  ///< of devices
};

/// Whether it is a program none of whose processes was a rank: none loaded PyTorch, as far as the
/// recording saw.
[[nodiscard]] bool hasNoRank(const RunFacts& run, const std::vector<ProcessFacts>& processes);

/// Of a recorded program: why it lacks something, or how to get it; "--capture full records it".
/// Empty for other recordings, and where nothing is known.
[[nodiscard]] std::string howToGet(const RunFacts& run, const std::vector<ProcessFacts>& processes,
                                   Lack lack);
/// Of a RecordingSummary or a Report.
template <class Recorded>
[[nodiscard]] std::string howToGet(const Recorded& recorded, Lack lack) {
    return howToGet(recorded.run, recorded.processes, lack);
}
/// `why`, and in brackets how to get it.
template <class Recorded>
[[nodiscard]] std::string withHow(const std::string& why, const Recorded& recorded, Lack lack) {
    const std::string how = howToGet(recorded, lack);
    return how.empty() ? why : why + " (" + how + ")";
}

/// What a program's ranks did together in its steps, and what does so too: "all-gather and
/// reduce-scatter, as FSDP and ZeRO do". Never the strategy that it was configured with. Empty:
/// there was no collective. `operations`, each once.
[[nodiscard]] std::string seenText(const std::vector<CollectiveOp>& operations);

}  // namespace shardscope::analysis
