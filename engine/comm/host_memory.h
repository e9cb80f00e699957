// Buffers of a communicator whose ranks share no memory.
#pragma once

#include "storage/model/mutex.h"

#include <cstddef>
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

}  // namespace shardscope::comm
