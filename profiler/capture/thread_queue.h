// One producing thread's way into the capture: two bounded queues without locks.
//
// The producer never allocates, locks or waits; a full queue drops the event and counts it. Of a
// queue that is shared, producers lock.
// One consumer (the thread that calls CaptureSession::drain).
#pragma once

#include "storage/model/events.h"
#include "storage/model/mutex.h"

#include <readerwriterqueue/readerwriterqueue.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace shardscope::capture {

class ThreadQueue {
public:
    explicit ThreadQueue(std::size_t capacity, bool shared = false)
        : m_shared(shared), m_spans(capacity), m_memory(capacity) {}

    void push(const SpanEvent& event) { put(m_spans, event); }
    void push(const MemoryEvent& event) { put(m_memory, event); }

    /// Its thread has ended: once it is empty, another thread may have it.
    void release() { m_free.store(true, std::memory_order_release); }
    /// For the calling thread, where no thread has it and it is empty.
    [[nodiscard]] bool acquire() {
        if (!m_free.load(std::memory_order_acquire)) return false;
        if (m_spans.peek() != nullptr || m_memory.peek() != nullptr) return false;
        m_free.store(false, std::memory_order_relaxed);
        return true;
    }
    /// Lane of its thread's operators, once it has one.
    std::optional<LaneId> operatorLane;

    bool pop(SpanEvent& event) { return m_spans.try_dequeue(event); }
    bool pop(MemoryEvent& event) { return m_memory.try_dequeue(event); }

    /// Events pushed so far, dropped ones included.
    [[nodiscard]] std::uint64_t emitted() const {
        return m_emitted.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t dropped() const {
        return m_dropped.load(std::memory_order_relaxed);
    }

private:
    template <class Event>
    void put(moodycamel::ReaderWriterQueue<Event>& queue, const Event& event) {
        if (!m_shared) return count(queue.try_enqueue(event));
        const MutexLock lock(m_producers);
        count(queue.try_enqueue(event));
    }
    // Only the producer writes the counters, so a plain increment is enough.
    void count(bool accepted) {
        m_emitted.store(m_emitted.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        if (!accepted) {
            m_dropped.store(m_dropped.load(std::memory_order_relaxed) + 1,
                            std::memory_order_relaxed);
        }
    }

    const bool m_shared;
    Mutex m_producers;
    moodycamel::ReaderWriterQueue<SpanEvent> m_spans;
    moodycamel::ReaderWriterQueue<MemoryEvent> m_memory;
    std::atomic<std::uint64_t> m_emitted{0};
    std::atomic<std::uint64_t> m_dropped{0};
    std::atomic<bool> m_free{false};
};

}  // namespace shardscope::capture
