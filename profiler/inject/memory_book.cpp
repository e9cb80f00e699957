#include "profiler/inject/memory_book.h"

#include <algorithm>
#include <utility>

namespace shardscope::inject {
namespace {

/// Bookkeeping per block; more than any program has alive, and a bound on what it takes.
constexpr std::size_t kMostBlocks = std::size_t{1} << 17;

bool isForward(Phase phase) {
    return phase == Phase::kForward || phase == Phase::kHead;
}

}  // namespace

void MemoryBook::mark(std::uint64_t address, MemoryCategory category, Timestamp time) {
    const MutexLock lock(m_mutex);
    if (m_marks.size() < kMostBlocks) m_marks.push_back({address, category, time});
}

void MemoryBook::pass(std::vector<MemoryEvent>& events, Timestamp settled, bool all) {
    std::vector<MemoryEvent> sorted = std::exchange(m_early, {});
    sorted.insert(sorted.end(), events.begin(), events.end());
    events.clear();
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const MemoryEvent& a, const MemoryEvent& b) { return a.time < b.time; });
    std::vector<Mark> marks;
    {
        const MutexLock lock(m_mutex);
        marks = std::exchange(m_marks, {});
    }
    auto mark = marks.begin();
    for (MemoryEvent& event : sorted) {
        if (!all && event.time >= settled) {
            m_early.push_back(event);
            continue;
        }
        for (; mark != marks.end() && mark->time <= event.time; ++mark) apply(*mark);
        take(event);
    }
    // Marks of moments that have yet to be seen come again; those of quiet times count now.
    for (; mark != marks.end() && (all || m_early.empty()); ++mark) apply(*mark);
    if (mark != marks.end()) {
        const MutexLock lock(m_mutex);
        m_marks.insert(m_marks.begin(), mark, marks.end());
    }
    std::size_t ready = 0;
    if (all)
        ready = m_waiting.size();
    else if (m_waiting.size() > kMostWaiting)
        ready = m_waiting.size() - kMostWaiting / 2;
    while (ready < m_waiting.size() && m_waiting[ready].step != m_step) ++ready;
    release(ready, events);
}

void MemoryBook::take(MemoryEvent event) {
    m_step = event.step;
    const auto found = m_blocks.find(event.address);
    if (event.action == MemoryAction::kFree) {
        // Its allocation was dropped, or came before the recording.
        if (found == m_blocks.end()) return;
        classify(found->second, event);
        event.category = found->second.allocation.category;
        event.size = found->second.allocation.size;
        m_blocks.erase(found);
        m_waiting.push_back(event);
        return;
    }
    if (found != m_blocks.end()) {  // its free was dropped
        MemoryEvent lost = found->second.allocation;
        lost.action = MemoryAction::kFree;
        lost.time = event.time;
        m_waiting.push_back(lost);
        m_blocks.erase(found);
    }
    if (event.phase == Phase::kData) event.category = MemoryCategory::kInput;
    if (m_blocks.size() < kMostBlocks) {
        Block block;
        block.allocation = event;
        block.number = m_firstNumber + m_waiting.size();
        m_blocks.emplace(event.address, block);
        m_waiting.push_back(event);
    }
}

void MemoryBook::classify(Block& block, const MemoryEvent& freed) {
    const MemoryEvent& born = block.allocation;
    if (born.category != MemoryCategory::kOther || born.step != freed.step) return;
    if (isForward(born.phase) && freed.phase == Phase::kBackward)
        setCategory(block, MemoryCategory::kActivation);
    else if (born.phase != Phase::kNone && born.phase == freed.phase)
        setCategory(block, MemoryCategory::kTemporary);
}

/// Of an event that waits: no other category was stored.
void MemoryBook::setCategory(Block& block, MemoryCategory category) {
    if (block.stored) return;
    block.allocation.category = category;
    waiting(block.number).category = category;
}

void MemoryBook::apply(const Mark& mark) {
    const auto found = m_blocks.find(mark.address);
    if (found == m_blocks.end()) return;
    Block& block = found->second;
    if (block.allocation.category == mark.category) return;
    if (!block.stored) return setCategory(block, mark.category);
    MemoryEvent moved = block.allocation;
    moved.time = mark.time;
    moved.action = MemoryAction::kFree;
    m_waiting.push_back(moved);
    moved.action = MemoryAction::kAllocate;
    moved.category = mark.category;
    block.allocation = moved;
    block.number = m_firstNumber + m_waiting.size();
    block.stored = false;
    m_waiting.push_back(moved);
}

void MemoryBook::release(std::size_t count, std::vector<MemoryEvent>& events) {
    for (std::size_t i = 0; i < count; ++i) {
        const MemoryEvent& event = m_waiting.front();
        if (event.action == MemoryAction::kAllocate)
            if (const auto block = m_blocks.find(event.address);
                block != m_blocks.end() && block->second.number == m_firstNumber)
                block->second.stored = true;
        events.push_back(event);
        m_waiting.pop_front();
        ++m_firstNumber;
    }
}

}  // namespace shardscope::inject
