// Counters, metrics and memory events of a recorded rank, as Kineto writes such.
#pragma once

#include "storage/interchange/kineto/out/recorded_rank.h"

namespace shardscope::interchange::kineto_out {

/// Samples of a counter lane. Those that are no numbers are left out: JSON has none.
Result<void> writeCounter(const RecordedRank& rank, const LaneFacts& lane);
/// Of all ranks, as counters of this one.
void writeMetrics(const RecordedRank& rank);
/// [memory] as PyTorch's allocator tells it, of what the allocator knows of.
Result<void> writeMemory(const RecordedRank& rank);

}  // namespace shardscope::interchange::kineto_out
