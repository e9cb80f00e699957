// Blocks of the CPU tensor allocator.
//
// An allocator before the one that PyTorch had: it passes every call on, and puts its deleter in
// place of the other's, which ours then calls. Address and context stay as they were, so that raw
// allocation, lazy clones and torch.profiler's own account of memory find what they expect. Sizes
// for the report of a free are in a table; nothing but that report depends on it.
#include "profiler/inject/torch/shim.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <sched.h>

#include <cstddef>
#include <cstdlib>
#include <utility>

namespace shardscope::shim {
namespace {

struct Entry {
    std::uintptr_t block;  // 0: empty
    std::size_t bytes;
};

/// Open addressing with linear probing. Many of them, so that threads seldom wait for each other.
class alignas(64) Shard {
public:
    bool insert(std::uintptr_t block, std::size_t bytes, std::size_t hash) noexcept {
        lock();
        const bool room = (used() + 1) * 4 <= m_capacity * 3 || grow();
        if (room) put({block, bytes}, hash);
        unlock();
        return room;
    }

    /// Bytes of the block, which is in it no more; 0: it was not in it.
    std::size_t remove(std::uintptr_t block, std::size_t hash) noexcept {
        if (used() == 0) return 0;
        lock();
        std::size_t bytes = 0;
        std::size_t at = hash & (m_capacity - 1);
        while (m_entries[at].block != 0 && m_entries[at].block != block)
            at = (at + 1) & (m_capacity - 1);
        if (m_entries[at].block == block) {
            bytes = m_entries[at].bytes;
            close(at);
        }
        unlock();
        return bytes;
    }

    void forget() noexcept {
        m_entries = nullptr;  // it may be half changed: left where it is
        m_capacity = 0;
        m_used.store(0, std::memory_order_relaxed);
        m_locked.clear();
    }

private:
    std::size_t used() const noexcept { return m_used.load(std::memory_order_relaxed); }
    void lock() noexcept {
        for (int tries = 0; m_locked.test_and_set(std::memory_order_acquire); ++tries) {
            if (tries > 100) sched_yield();
        }
    }
    void unlock() noexcept { m_locked.clear(std::memory_order_release); }

    void put(Entry entry, std::size_t hash) noexcept {
        std::size_t at = hash & (m_capacity - 1);
        while (m_entries[at].block != 0 && m_entries[at].block != entry.block) {
            at = (at + 1) & (m_capacity - 1);
        }
        if (m_entries[at].block == 0) m_used.store(used() + 1, std::memory_order_relaxed);
        m_entries[at] = entry;
    }

    /// Moves up those behind that would not be found over a gap.
    void close(std::size_t gap) noexcept;
    bool grow() noexcept;

    std::atomic_flag m_locked = ATOMIC_FLAG_INIT;
    std::atomic<std::size_t> m_used{0};
    std::size_t m_capacity = 0;  // a power of two
    Entry* m_entries = nullptr;
};

constexpr int kShardBits = 6;
Shard g_shards[1 << kShardBits];

std::size_t hashOf(std::uintptr_t block) {
    return static_cast<std::size_t>(block * 0x9E3779B97F4A7C15u) >> 16;
}
Shard& shardOf(std::size_t hash) {
    return g_shards[hash >> (48 - kShardBits)];
}

void Shard::close(std::size_t gap) noexcept {
    const std::size_t mask = m_capacity - 1;
    for (std::size_t at = (gap + 1) & mask; m_entries[at].block != 0; at = (at + 1) & mask) {
        const std::size_t wanted = hashOf(m_entries[at].block) & mask;
        if (((at - wanted) & mask) < ((at - gap) & mask)) continue;
        m_entries[gap] = m_entries[at];
        gap = at;
    }
    m_entries[gap] = {};
    m_used.store(used() - 1, std::memory_order_relaxed);
}

bool Shard::grow() noexcept {
    const std::size_t capacity = m_capacity == 0 ? 64 : m_capacity * 2;
    auto* entries = static_cast<Entry*>(std::calloc(capacity, sizeof(Entry)));
    if (entries == nullptr) return false;
    Entry* old = std::exchange(m_entries, entries);
    const std::size_t count = std::exchange(m_capacity, capacity);
    m_used.store(0, std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i) {
        if (old[i].block != 0) put(old[i], hashOf(old[i].block));
    }
    std::free(old);
    return true;
}

c10::DeleterFnPtr g_delete = nullptr;  // of the allocator behind ours

void release(void* block) {
    if (block == nullptr) return g_delete(block);  // of no bytes
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    const std::size_t hash = hashOf(address);
    // First: once it is free another thread may get, and report, the same address.
    const std::size_t bytes = shardOf(hash).remove(address, hash);
    if (bytes != 0) g_api->freed(block, bytes);
    g_delete(block);
}

class ReportingAllocator final : public c10::Allocator {
public:
    explicit ReportingAllocator(c10::Allocator& behind) : m_behind(behind) {}

    c10::DataPtr allocate(std::size_t bytes) override {
        c10::DataPtr data = m_behind.allocate(bytes);
        void* block = data.get();
        const bool simple =
            data.get_context() == block && data.compare_exchange_deleter(g_delete, &release);
        if (!simple || block == nullptr || bytes == 0 || !levelIs(SHARDSCOPE_FULL)) return data;
        const auto address = reinterpret_cast<std::uintptr_t>(block);
        const std::size_t hash = hashOf(address);
        if (shardOf(hash).insert(address, bytes, hash)) g_api->allocated(block, bytes);
        return data;
    }
    bool is_simple_data_ptr(const c10::DataPtr& data) const override {
        return m_behind.is_simple_data_ptr(data);
    }
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
    void copy_data(void* to, const void* from, std::size_t bytes) const override {
        m_behind.copy_data(to, from, bytes);
    }

private:
    c10::Allocator& m_behind;
};

}  // namespace

void observeMemory() {
    static bool asked = false;
    if (std::exchange(asked, true)) return;
    c10::Allocator* behind = c10::GetCPUAllocator();
    g_delete = behind->raw_deleter();
    if (g_delete == nullptr) {
        g_api->log("warning",
                   "this program's own CPU allocator cannot be observed; no memory is recorded");
        return;
    }
    auto* ours = new ReportingAllocator(*behind);  // outlives every tensor
    // At the priority of the present one, so that what could replace that replaces ours.
    for (int priority = 0; priority < 256 && c10::GetCPUAllocator() != ours; ++priority) {
        c10::SetCPUAllocator(ours, static_cast<std::uint8_t>(priority));
    }
}

void forgetMemory() noexcept {
    for (Shard& each : g_shards) each.forget();
}

}  // namespace shardscope::shim
