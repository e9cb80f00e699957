// Reads stacks of what ran as one tree: of all selected ranks, the figures of `flame` in another
// form, and of a recording beside its baseline.
#pragma once

#include "profiler/analysis/steps/call_tree.h"
#include "profiler/questions/question.h"
#include "profiler/questions/selection.h"
#include "storage/model/words.h"
#include "storage/recording/read/recording_reader.h"

#include <cstddef>
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

/// What a frame of a tree is, by its tag.
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
/// Of the lanes of a kind, added up; without calibration, as `work` and `flame` count.
[[nodiscard]] Result<Stacks> readStacks(const Asked& asked, StackKind kind);

/// Of a recording and of its baseline, per step of a rank: what `compare` lists by name, by what it
/// ran within.
struct StackDifference {
    std::vector<StackKind> kinds;   ///< of which either has lanes
    std::optional<StackKind> kind;  ///< nullopt: neither has any
    analysis::CallDifference stacks;
    /// Steps of all ranks together, by which times are divided; 0: it has none, so that its times
    /// are those of all of it.
    std::size_t stepsBefore = 0, stepsAfter = 0;
    std::size_t lanesBefore = 0, lanesAfter = 0;
};

/// From the first step's beginning to the last one's end where nothing else is selected: start-up
/// and end are not part of a step. Without `wanted`, or where neither has it, of the first kind
/// that both have, else of the first. kUsage: the selection leaves nothing of one, and why.
[[nodiscard]] Result<StackDifference> readStackDifference(storage::RecordingReader& before,
                                                          storage::RecordingReader& after,
                                                          const Selection& selection,
                                                          std::optional<StackKind> wanted);

}  // namespace shardscope::questions
