// The memory CUPTI writes records into: a fixed number of buffers, allocated, touched and
// zeroed before the first launch.
//
// take() and complete() run inside the application's launch calls: no lock, no allocation, no
// system call. One bit a buffer says whether it is free, another whether it is full.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace shardscope::collectors::cupti {

class BufferPool {
public:
    static constexpr std::size_t kMostBuffers = 64;

    /// `bytes` is rounded up to 8, the alignment CUPTI wants.
    BufferPool(std::size_t buffers, std::size_t bytes);
    /// Buffers that CUPTI still holds are left alive: it may write into them until exit.
    ~BufferPool();
    BufferPool(const BufferPool&) = delete;
    BufferPool& operator=(const BufferPool&) = delete;

    [[nodiscard]] std::size_t bufferBytes() const { return m_bytes; }

    /// Null when all are out; counted. Any thread.
    std::uint8_t* take() noexcept;
    /// Any thread. A pointer that take() did not give is ignored.
    void complete(std::uint8_t* buffer, std::size_t validBytes) noexcept;

    struct Full {
        std::uint8_t* data = nullptr;
        std::size_t bytes = 0;
    };
    /// All that were completed since the last call. Decoder thread.
    [[nodiscard]] std::vector<Full> takeFull();
    /// Zeroes what was used and makes it free. Decoder thread.
    void giveBack(const Full& full) noexcept;

    [[nodiscard]] std::uint64_t refused() const {
        return m_refused.load(std::memory_order_relaxed);
    }

private:
    [[nodiscard]] std::size_t indexOf(const std::uint8_t* buffer) const noexcept;

    const std::size_t m_buffers;
    const std::size_t m_bytes;
    std::vector<std::unique_ptr<std::uint64_t[]>> m_memory;
    std::vector<std::size_t> m_valid;  ///< [i]: written before bit i of m_full is set
    std::atomic<std::uint64_t> m_free;
    std::atomic<std::uint64_t> m_full{0};
    std::atomic<std::uint64_t> m_refused{0};
};

}  // namespace shardscope::collectors::cupti
