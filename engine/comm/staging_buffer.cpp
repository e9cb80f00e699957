#include "engine/comm/staging_buffer.h"

#include "storage/model/host_clock.h"

namespace shardscope::comm {

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
