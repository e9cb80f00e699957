// What an allocator holds beyond what is allocated from it.
//
// Slack = reserved - allocated, at every sample of what is reserved: what is cached, what is split
// too small to be used, and what rounding takes. Free blocks of segments, where the recording lists
// them: fragmentation = 1 - largest free block / all free blocks; 0: it is one block, 1: only small
// ones. The driver was asked when what is reserved grows; an allocator that finds no room there
// gives back what it caches and asks again (PyTorch counts it in num_alloc_retries), which shows as
// shrinking.
#pragma once

#include "storage/model/recording.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::analysis {

struct ReservedMemory {
    Bytes most;                   ///< that was reserved
    Bytes slack;                  ///< the most that lay idle at a sample
    Bytes slackReserved;          ///< reserved then
    Timestamp slackTime;          ///< the first such sample
    std::optional<Bytes> atPeak;  ///< reserved at the last sample up to `peakTime`
    /// Of what was reserved then; absent: nothing was.
    [[nodiscard]] std::optional<double> slackShare() const {
        if (slackReserved.count <= 0) return std::nullopt;
        return static_cast<double>(slack.count) / static_cast<double>(slackReserved.count);
    }
};
/// `reserved` and `allocated`: samples in bytes, by time. Nothing without samples of what is
/// reserved at a time when it is known what is allocated.
[[nodiscard]] std::optional<ReservedMemory> reservedMemory(
    const std::vector<CounterEvent>& reserved, const std::vector<CounterEvent>& allocated,
    Timestamp peakTime);

struct CounterChanges {
    std::int64_t grew = 0, shrank = 0;
};
/// From one sample to the next, both within the range.
[[nodiscard]] CounterChanges changesOf(const std::vector<CounterEvent>& samples, TimeRange range);

/// What the tensor allocator has given out, from its events: all but what lies outside of it.
[[nodiscard]] std::vector<CounterEvent> allocatedSamples(const std::vector<MemoryEvent>& events);

struct FreeBlocks {
    std::int64_t blocks = 0;
    Bytes all, largest;
    /// 1 - largest / all; absent where nothing is free.
    [[nodiscard]] std::optional<double> fragmentation() const {
        if (all.count <= 0) return std::nullopt;
        return 1 - static_cast<double>(largest.count) / static_cast<double>(all.count);
    }
};
[[nodiscard]] FreeBlocks freeBlocks(const std::vector<Bytes>& sizes);

}  // namespace shardscope::analysis
