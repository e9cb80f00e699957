// The stretches of a step that a person thinks in: runs of phases, shown under the step. Pure.
#pragma once

#include "storage/model/events.h"
#include "storage/model/words.h"

#include <cstdint>

namespace shardscope::worker {

enum class Stretch : std::uint8_t { kNone, kForward, kHead, kBackward, kOptimizer };
constexpr auto wordsOf(Stretch) {
    return wordList<Word<Stretch>>({{Stretch::kNone, "none"},
                                    {Stretch::kForward, "forward"},
                                    {Stretch::kHead, "head"},
                                    {Stretch::kBackward, "backward"},
                                    {Stretch::kOptimizer, "optimizer"}});
}

/// Where a step is once `phase` has come in `current`.
[[nodiscard]] Stretch stretchOf(Phase phase, Stretch current);

}  // namespace shardscope::worker
