// What the step thread of a recorded program waited for.
//
// Ranks of our own say when they wait. Of another program it is seen: between two phases its step
// thread does nothing that PyTorch knows of, and where a collective of its rank ends in between,
// the thread went on once that had ended: DistributedDataParallel at the end of the backward pass,
// clipping of gradients, a barrier. What is waited for within forward or backward, as by FSDP, is
// not seen and counts as compute.
#pragma once

#include "storage/model/recording.h"

namespace shardscope::analysis {

/// Of a program with its waits among the phases, without names; of any other recording as it is.
[[nodiscard]] RankEvents withSeenWaits(const RunFacts& run, RankEvents events);

}  // namespace shardscope::analysis
