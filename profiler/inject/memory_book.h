// What the blocks of a foreign program's tensors are for, as far as it can be proven.
//
// Events of a step wait here until the step has ended: only then is it known that a block of the
// forward pass lived into the backward pass (an activation) or did not (temporary). Parameters,
// gradients and optimizer state are marked by address, from the optimizer's own lists. What nothing
// proves stays MemoryCategory::kOther. A block that is marked after its allocation was stored
// changes its category by a free and an allocation at the moment of the mark: sums stay right.
//
// Drain thread, except mark().
#pragma once

#include "storage/model/events.h"
#include "storage/model/mutex.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace shardscope::inject {

class MemoryBook {
public:
    /// Events that wait for the end of their step; the oldest pass unproven beyond it.
    static constexpr std::size_t kMostWaiting = std::size_t{1} << 17;

    /// The block at `address`, if it lives at `time`, is of this category. Any thread.
    void mark(std::uint64_t address, MemoryCategory category, Timestamp time);

    /// Takes events by time, and replaces them by those that can be stored now; all that came where
    /// `all`. Events at `settled` or later stay for the next call: threads hand theirs over one
    /// after the other, and a free may come before its allocation.
    void pass(std::vector<MemoryEvent>& events, Timestamp settled, bool all);

private:
    struct Mark {
        std::uint64_t address = 0;
        MemoryCategory category = MemoryCategory::kOther;
        Timestamp time;
    };
    struct Block {
        MemoryEvent allocation;
        std::uint64_t number = 0;  ///< of its event, counted since the beginning
        bool stored = false;       ///< the event has left
    };

    void take(MemoryEvent event);
    void apply(const Mark& mark);
    void classify(Block& block, const MemoryEvent& freed);
    void setCategory(Block& block, MemoryCategory category);
    void release(std::size_t count, std::vector<MemoryEvent>& events);
    MemoryEvent& waiting(std::uint64_t number) { return m_waiting[number - m_firstNumber]; }

    std::unordered_map<std::uint64_t, Block> m_blocks;  ///< alive, by address
    std::vector<MemoryEvent> m_early;                   ///< at or after the last `settled`
    std::deque<MemoryEvent> m_waiting;
    std::uint64_t m_firstNumber = 0;  ///< of the first that waits
    StepIndex m_step = kNoStep;       ///< of the last event

    Mutex m_mutex;
    std::vector<Mark> m_marks SHARDSCOPE_GUARDED_BY(m_mutex);
};

}  // namespace shardscope::inject
