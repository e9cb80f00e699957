// The ledger: what each step of each rank was spent on. Rows, and their sums and medians over the
// whole run or over what is selected of it.
#pragma once

#include "storage/model/ids.h"
#include "storage/model/units.h"
#include "storage/model/words.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardscope::analysis {

/// Parts of a step. Their sum is the step's wall time, exactly, on every rank.
enum class LedgerPart : std::uint8_t {
    kCompute = 0,       ///< forward, head, backward
    kOptimizer,         ///< clip and sharded AdamW
    kExposedGather,     ///< blocked on a gather while data moved
    kExposedReduction,  ///< blocked on a gradient reduction while data moved
    kExposedOther,      ///< blocked on another collective while data moved
    kWaiting,           ///< blocked in a collective before the last rank arrived
    kData,
    kEvaluation,
    kOther,  ///< between phases: scheduling, releases, bookkeeping
};
/// What a part is called, in JSON too, and a sentence about what it is.
struct LedgerPartWords {
    LedgerPart value;
    const char* word;
    const char* key;
    const char* definition;
};
constexpr auto wordsOf(LedgerPart) {
    return wordList<LedgerPartWords>(
        {{LedgerPart::kCompute, "compute", "compute_ns",
          "Forward, head with loss, and backward of the step thread."},
         {LedgerPart::kOptimizer, "optimizer", "optimizer_ns",
          "Gradient clipping and the sharded AdamW update."},
         {LedgerPart::kExposedGather, "blocked in gathers", "blocked_gather_ns",
          "Blocked until gathered parameters are there, while every rank had arrived and data "
          "moved."},
         {LedgerPart::kExposedReduction, "blocked in reductions", "blocked_reduction_ns",
          "Blocked until a gradient reduction is done, while every rank had arrived and data "
          "moved."},
         {LedgerPart::kExposedOther, "blocked in others", "blocked_other_ns",
          "Blocked in any other collective (norm, loss), while every rank had arrived and data "
          "moved."},
         {LedgerPart::kWaiting, "waiting for the slowest", "waiting_ns",
          "Blocked while a collective of this rank had started but its last rank had not arrived."},
         {LedgerPart::kData, "data", "data_ns", "Building the batch."},
         {LedgerPart::kEvaluation, "evaluation", "evaluation_ns",
          "Validation passes inside the step."},
         {LedgerPart::kOther, "other", "other_ns",
          "Between phases: scheduling, releases, bookkeeping; collectives may go on meanwhile."}});
}
inline constexpr int kLedgerPartCount = static_cast<int>(kPlaces<LedgerPart>);
[[nodiscard]] constexpr const char* toKey(LedgerPart part) {
    return entryOf(part)->key;
}
[[nodiscard]] constexpr const char* definition(LedgerPart part) {
    return entryOf(part)->definition;
}

/// By LedgerPart.
using LedgerParts = std::array<Duration, kLedgerPartCount>;
/// Place of a part.
[[nodiscard]] constexpr std::size_t at(LedgerPart part) {
    return static_cast<std::size_t>(part);
}

struct LedgerRow {
    RankId rank;
    StepIndex step;
    Duration wall;
    LedgerParts parts{};
};

/// Blocked in collectives, waiting for the slowest rank included.
[[nodiscard]] Duration blockedIn(const LedgerParts& parts);
/// Each part's median over the rows of a rank; zero without rows.
[[nodiscard]] LedgerParts medianParts(const std::vector<LedgerRow>& rows, RankId rank);
/// Over all rows.
[[nodiscard]] LedgerParts sumOfParts(const std::vector<LedgerRow>& rows);
[[nodiscard]] Duration sumOfWalls(const std::vector<LedgerRow>& rows);

}  // namespace shardscope::analysis
