#include "profiler/collectors/cupti/buffer_pool.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace shardscope::collectors::cupti {
namespace {

std::uint64_t lowBits(std::size_t count) {
    return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

std::uint64_t bit(std::size_t index) {
    return std::uint64_t{1} << index;
}

}  // namespace

BufferPool::BufferPool(std::size_t buffers, std::size_t bytes)
    : m_buffers(std::clamp<std::size_t>(buffers, 1, kMostBuffers)),
      m_bytes((bytes + 7) / 8 * 8),
      m_valid(m_buffers, 0),
      m_free(lowBits(m_buffers)) {
    for (std::size_t i = 0; i < m_buffers; ++i) {
        auto memory = std::make_unique_for_overwrite<std::uint64_t[]>(m_bytes / 8);
        // Large allocations come as untouched zero pages; writing brings them in now.
        std::memset(memory.get(), 0, m_bytes);
        m_memory.push_back(std::move(memory));
    }
}

BufferPool::~BufferPool() {
    const std::uint64_t home = m_free.load() | m_full.load();
    for (std::size_t i = 0; i < m_buffers; ++i) {
        if ((home & bit(i)) == 0) static_cast<void>(m_memory[i].release());
    }
}

std::size_t BufferPool::indexOf(const std::uint8_t* buffer) const noexcept {
    for (std::size_t i = 0; i < m_buffers; ++i) {
        if (static_cast<const void*>(m_memory[i].get()) == buffer) return i;
    }
    return m_buffers;
}

std::uint8_t* BufferPool::take() noexcept {
    std::uint64_t free = m_free.load(std::memory_order_relaxed);
    while (free != 0) {
        const auto index = static_cast<std::size_t>(std::countr_zero(free));
        if (m_free.compare_exchange_weak(free, free & ~bit(index), std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
            return static_cast<std::uint8_t*>(static_cast<void*>(m_memory[index].get()));
        }
    }
    m_refused.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
}

void BufferPool::complete(std::uint8_t* buffer, std::size_t validBytes) noexcept {
    const std::size_t index = indexOf(buffer);
    if (index == m_buffers) return;
    m_valid[index] = std::min(validBytes, m_bytes);
    m_full.fetch_or(bit(index), std::memory_order_release);
}

std::vector<BufferPool::Full> BufferPool::takeFull() {
    std::vector<Full> buffers;
    for (std::uint64_t full = m_full.exchange(0, std::memory_order_acquire); full != 0;
         full &= full - 1) {
        const auto index = static_cast<std::size_t>(std::countr_zero(full));
        buffers.push_back({static_cast<std::uint8_t*>(static_cast<void*>(m_memory[index].get())),
                           m_valid[index]});
    }
    return buffers;
}

void BufferPool::giveBack(const Full& full) noexcept {
    const std::size_t index = indexOf(full.data);
    if (index == m_buffers) return;
    std::memset(full.data, 0, full.bytes);
    m_free.fetch_or(bit(index), std::memory_order_release);
}

}  // namespace shardscope::collectors::cupti
