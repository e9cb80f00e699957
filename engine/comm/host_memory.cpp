#include "engine/comm/host_memory.h"

#include "engine/comm/communicator.h"
#include "storage/model/host_clock.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace shardscope::comm {

HostMemory::~HostMemory() {
    for (const Block& block : m_blocks) ::munmap(block.address, block.bytes);
}

void* HostMemory::allocate(std::size_t bytes) {
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) {
        throw CommunicationError(fmt::format("no memory for a communication buffer of {} bytes: {}",
                                             bytes, std::strerror(errno)));
    }
    const MutexLock lock(m_mutex);
    m_blocks.push_back({address, size});
    return address;
}

std::byte* StagingBuffer::reserve(std::size_t bytes) {
    if (bytes <= m_bytes) return m_memory.get();
    release();  // before: both at once would be a peak of their own
    m_memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
    m_bytes = bytes;
    report(MemoryAction::kAllocate);
    return m_memory.get();
}

void StagingBuffer::release() {
    if (m_bytes == 0) return;
    report(MemoryAction::kFree);
    m_memory.reset();
    m_bytes = 0;
}

void StagingBuffer::report(MemoryAction action) const {
    if (m_observer == nullptr) return;
    m_observer->buffer({m_memory.get(), static_cast<std::int64_t>(m_bytes), action,
                        MemoryCategory::kCommunication, kNoLayer, m_owner, hostNow()});
}

}  // namespace shardscope::comm
