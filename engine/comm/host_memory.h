// Memory of communicators: of one whose ranks share none, and where data of others arrives.
#pragma once

#include "engine/control/observer.h"
#include "storage/model/mutex.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace shardscope::comm {

/// Mapped memory: zero, at the start of a page, counted only once touched. Freed with the object.
class HostMemory {
public:
    HostMemory() = default;
    ~HostMemory();
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;

    /// Throws CommunicationError when there is none. Any thread.
    void* allocate(std::size_t bytes);

private:
    struct Block {
        void* address;
        std::size_t bytes;
    };
    Mutex m_mutex;
    std::vector<Block> m_blocks SHARDSCOPE_GUARDED_BY(m_mutex);
};

// Memory of a communicator's own: where data of other ranks arrives before it is summed.

/// Grows to the largest size asked for and stays; reported as MemoryCategory::kCommunication. One
/// thread at a time.
class StagingBuffer {
public:
    /// `observer` may be null and outlives the buffer; `owner` is a static string.
    StagingBuffer(control::Observer* observer, const char* owner)
        : m_observer(observer), m_owner(owner) {}
    ~StagingBuffer() { release(); }
    StagingBuffer(const StagingBuffer&) = delete;
    StagingBuffer& operator=(const StagingBuffer&) = delete;

    /// At least `bytes`, aligned for any number; what was there is lost when it grows.
    std::byte* reserve(std::size_t bytes);

private:
    void release();
    void report(MemoryAction action) const;

    control::Observer* const m_observer;
    const char* const m_owner;
    std::size_t m_bytes = 0;
    std::unique_ptr<std::byte[]> m_memory;
};

}  // namespace shardscope::comm
