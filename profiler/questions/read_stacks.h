// Reads stacks of what ran, of all selected ranks, as one tree: the figures of `flame`, in another
// form.
#pragma once

#include "profiler/analysis/call_tree.h"
#include "profiler/questions/question.h"
#include "storage/model/words.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::questions {

/// Lanes whose stacks belong together.
enum class StackKind : std::uint8_t { kOperators, kPython, kKernels, kPhases, kCalls, kRanges };
constexpr auto wordsOf(StackKind) {
    return wordList<Word<StackKind>>({{StackKind::kOperators, "operators"},
                                      {StackKind::kPython, "Python"},
                                      {StackKind::kKernels, "kernels and copies"},
                                      {StackKind::kPhases, "phases"},
                                      {StackKind::kCalls, "calls of the runtime"},
                                      {StackKind::kRanges, "annotations"}});
}
/// None: of counters, waits and what tracers took.
[[nodiscard]] std::optional<StackKind> stackKindOf(const LaneFacts& lane);
/// Kinds of which the selected ranks have lanes, in this order.
[[nodiscard]] std::vector<StackKind> stackKinds(const RecordingSummary& summary);

/// What a frame of a tree is, told by its tag.
struct StackTag {
    Phase phase = Phase::kNone;  ///< of the outermost span around it
    LaneRole role = LaneRole::kHost;

    [[nodiscard]] std::uint8_t packed() const {
        return static_cast<std::uint8_t>(static_cast<unsigned>(phase) << 3 |
                                         (static_cast<unsigned>(role) - 1));
    }
    [[nodiscard]] static StackTag of(std::uint8_t packed) {
        return {static_cast<Phase>(packed >> 3), static_cast<LaneRole>((packed & 7U) + 1)};
    }
};

struct Stacks {
    analysis::CallTree merged;  ///< lanes and ranks as one
    analysis::CallTree byLane;  ///< the outermost frames are ranks and lanes
    std::size_t lanes = 0;
};
/// Of the lanes of a kind, added up.
[[nodiscard]] Result<Stacks> readStacks(const Asked& asked, StackKind kind);

}  // namespace shardscope::questions
