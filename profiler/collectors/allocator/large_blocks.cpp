#include "profiler/collectors/allocator/large_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

namespace shardscope::collectors {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kLeastHuge = 2 * kHugePage;
constexpr std::size_t kGranule = std::size_t{64} << 10;  // of sizes that count as the same

/// With room for a block's place inside its first page.
std::size_t mappedBytes(std::size_t bytes) {
    return (bytes + kPage + kGranule - 1) / kGranule * kGranule;
}

std::byte* mapped(std::size_t bytes) {
    void* const fresh =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return fresh == MAP_FAILED ? nullptr : static_cast<std::byte*>(fresh);
}

/// At a multiple of a huge page, where the kernel may then use them: 2 to 4 % of a step of `small`.
std::byte* mappedHuge(std::size_t bytes) {
    std::byte* const wide = mapped(bytes + kHugePage);
    if (wide == nullptr) return nullptr;
    const std::size_t past = reinterpret_cast<std::uintptr_t>(wide) % kHugePage;
    const std::size_t before = past == 0 ? 0 : kHugePage - past;
    if (before > 0) ::munmap(wide, before);
    ::munmap(wide + before + bytes, kHugePage - before);
    ::madvise(wide + before, bytes, MADV_HUGEPAGE);  // a wish
    return wide + before;
}

std::byte* baseOf(void* block) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(block) & ~(kPage - 1));
}

}  // namespace

LargeBlocks::~LargeBlocks() {
    for (const Mapping& mapping : m_idle) ::munmap(mapping.base, mapping.bytes);
}

/// Blocks that all began at the same place of a page would get into each other's way in the caches.
void* LargeBlocks::placed(std::byte* base) {
    constexpr std::size_t kPlaces = 32;
    return base + m_taken++ % kPlaces * kLine;
}

/// Takes out what lay idle longest until idle and used blocks fit into `most`.
void LargeBlocks::shrinkTo(std::size_t most, std::vector<Mapping>& dropped) {
    std::size_t count = 0;
    for (; count < m_idle.size() && m_totals.inUse + m_totals.idle > most; ++count)
        m_totals.idle -= m_idle[count].bytes;
    const auto end = m_idle.begin() + static_cast<std::ptrdiff_t>(count);
    dropped.assign(m_idle.begin(), end);
    m_idle.erase(m_idle.begin(), end);
}

void* LargeBlocks::take(std::size_t bytes) {
    const std::size_t size = mappedBytes(bytes);
    std::vector<Mapping> dropped;
    {
        const MutexLock lock(m_mutex);
        m_totals.inUse += size;
        m_totals.most = std::max(m_totals.most, m_totals.inUse);
        // The one used last is warmest.
        const auto found = std::find_if(m_idle.rbegin(), m_idle.rend(),
                                        [&](const Mapping& idle) { return idle.bytes == size; });
        if (found != m_idle.rend()) {
            std::byte* const base = found->base;
            m_idle.erase(std::next(found).base());
            m_totals.idle -= size;
            return placed(base);
        }
        shrinkTo(m_totals.most + m_totals.most / 8, dropped);
    }
    for (const Mapping& mapping : dropped) ::munmap(mapping.base, mapping.bytes);
    std::byte* const fresh = size < kLeastHuge ? mapped(size) : mappedHuge(size);
    const MutexLock lock(m_mutex);
    if (fresh == nullptr) {
        m_totals.inUse -= size;
        return nullptr;
    }
    return placed(fresh);
}

void LargeBlocks::give(void* block, std::size_t bytes) {
    const std::size_t size = mappedBytes(bytes);
    std::vector<Mapping> dropped;
    {
        const MutexLock lock(m_mutex);
        m_totals.inUse -= size;
        m_totals.idle += size;
        m_idle.push_back({baseOf(block), size});
        shrinkTo(m_totals.most + m_totals.most / 8, dropped);
    }
    for (const Mapping& mapping : dropped) ::munmap(mapping.base, mapping.bytes);
}

LargeBlocks::Totals LargeBlocks::totals() const {
    const MutexLock lock(m_mutex);
    return m_totals;
}

}  // namespace shardscope::collectors
