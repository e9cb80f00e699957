// What the step thread of a recorded program waited for.
//
// Ranks of our own say when they wait, and for what. Of another program waits that Python sees are
// recorded (FSDP2, synchronous collectives), and what they were for is the collective that ended in
// them. What C++ waits for is seen between two phases: there the step thread does nothing that
// PyTorch knows of, and where a collective of its rank ends in between, the thread went on once
// that had ended, as in DistributedDataParallel at the end of the backward pass. What C++ waits for
// within forward or backward is not seen and counts as compute.
#pragma once

#include "storage/model/recording.h"

namespace shardscope::analysis {

/// Of a program with its waits among the phases, without names; of any other recording as it is.
[[nodiscard]] RankEvents withSeenWaits(const RunFacts& run, RankEvents events);

}  // namespace shardscope::analysis
