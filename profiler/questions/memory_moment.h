// What lives in a rank's memory at a moment, where it lies, and what the allocator holds beyond it;
// when those blocks come to their end; which stack asked for one of them.
//
// On the thread of the reader. Segments: of imported memory snapshots of PyTorch, which list those
// of the end and what became of segments before.
#pragma once

#include "profiler/analysis/memory/address_space.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope::questions {

struct MemoryMoment {
    std::vector<MemoryEvent> blocks;  ///< alive, largest first
    /// Of each: its event is the allocation; false: it was there before what is recorded.
    std::vector<bool> startsKnown;
    analysis::AddressSpace space;  ///< places in `blocks`
    std::optional<analysis::ReservedNow> reserved;
    std::string unknown;  ///< why nothing is known of segments
};

/// After all that happened up to `time`.
[[nodiscard]] Result<MemoryMoment> readMoment(storage::RecordingReader& reader,
                                              const RecordingSummary& summary, RankId rank,
                                              Timestamp time);

/// When each of `blocks`, alive at `time`, was freed; nothing: it is alive at the end. Looks
/// through what came later a stretch at a time, and no longer than it takes.
[[nodiscard]] Result<std::vector<std::optional<Timestamp>>> readBlockEnds(
    storage::RecordingReader& reader, const RecordingSummary& summary, RankId rank,
    const std::vector<MemoryEvent>& blocks, Timestamp time);

struct StackFrame {
    std::string name;
    std::string place;  ///< "model.py:147"; empty: not known
};
/// Of an allocation, innermost first, from its arguments; empty: the source has none.
[[nodiscard]] std::vector<StackFrame> readStack(storage::RecordingReader& reader, RankId rank,
                                                StringId arguments);

}  // namespace shardscope::questions
