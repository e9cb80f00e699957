// Memory for blocks of a MiB and more: each a mapping of its own, kept for the next of its size.
//
// In a heap, blocks that live for a layer and blocks that live for a step fill each other's gaps,
// and the heap grows half as large again as what is ever in use. Kept by size, what lies idle fits
// what comes next, since every step asks for the same sizes; and its pages are there already.
// Together, blocks in use and idle ones are never more than 9/8 of the most that was in use.
// Any thread.
#pragma once

#include "storage/model/mutex.h"

#include <cstddef>
#include <vector>

namespace shardscope::collectors {

class LargeBlocks {
public:
    static constexpr std::size_t kLeast = std::size_t{1} << 20;

    LargeBlocks() = default;
    ~LargeBlocks();

    /// `bytes` at a multiple of 64, contents undefined; null when they cannot be had.
    [[nodiscard]] void* take(std::size_t bytes);
    /// Of the same `bytes`.
    void give(void* block, std::size_t bytes);

    struct Totals {
        std::size_t inUse = 0, idle = 0, most = 0;  ///< bytes of mappings
    };
    [[nodiscard]] Totals totals() const;

    LargeBlocks(const LargeBlocks&) = delete;
    LargeBlocks& operator=(const LargeBlocks&) = delete;

private:
    struct Mapping {
        std::byte* base = nullptr;
        std::size_t bytes = 0;
    };
    [[nodiscard]] void* placed(std::byte* base) SHARDSCOPE_REQUIRES(m_mutex);
    void shrinkTo(std::size_t most, std::vector<Mapping>& dropped) SHARDSCOPE_REQUIRES(m_mutex);

    mutable Mutex m_mutex;
    std::vector<Mapping> m_idle SHARDSCOPE_GUARDED_BY(m_mutex);  ///< the longest idle first
    Totals m_totals SHARDSCOPE_GUARDED_BY(m_mutex);
    std::size_t m_taken SHARDSCOPE_GUARDED_BY(m_mutex) = 0;
};

}  // namespace shardscope::collectors
