// What is left of memory events once every allocation is struck out with its free: the blocks
// alive, in a form whose sums are those of all events. A value.
#pragma once

#include "storage/model/events.h"

#include <array>
#include <unordered_map>
#include <vector>

namespace shardscope::storage {

class MemoryBalance {
public:
    void apply(const MemoryEvent& event);

    /// Allocations without a free, in the order they were made, all moved to `time`. Where events
    /// were lost, what does not go together is summed up: one event a category, at an address
    /// below 16, without an owner.
    [[nodiscard]] std::vector<MemoryEvent> at(Timestamp time) const;

    /// Frees and allocations, all at `time`, that lead from these blocks to those of `later`.
    [[nodiscard]] std::vector<MemoryEvent> changesTo(const MemoryBalance& later,
                                                     Timestamp time) const;

private:
    std::unordered_map<std::uint64_t, MemoryEvent> m_alive;
    std::array<std::int64_t, kMemoryCategoryCount> m_unmatched{};  ///< bytes
};

}  // namespace shardscope::storage
