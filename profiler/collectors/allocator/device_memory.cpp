#include "profiler/collectors/allocator/device_memory.h"

#include "storage/model/host_clock.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace shardscope::collectors {
namespace {

// The allocator calls a plain function.
std::atomic<DeviceMemory*> g_memory{nullptr};

/// No device block lies in the first page.
constexpr std::uint64_t kOutsideAddress = 1;

void forward(const DeviceAllocation& allocation) {
    if (DeviceMemory* memory = g_memory.load(std::memory_order_acquire)) memory->take(allocation);
}

}  // namespace

DeviceMemory::DeviceMemory(const DeviceMemoryOptions& options, BlockUse (*use)())
    : m_device(options.device), m_use(use), m_blocks(std::bit_ceil(options.blocks * 4 / 3)) {}

void DeviceMemory::install(DeviceMemory* memory) {
    g_memory.store(memory, std::memory_order_release);
}

DeviceAllocationHook DeviceMemory::hook() {
    return &forward;
}

void DeviceMemory::attach(capture::CaptureSession* session) {
    m_session.store(session, std::memory_order_release);
}

void DeviceMemory::take(const DeviceAllocation& allocation) {
    if (allocation.device != m_device) return;
    switch (allocation.action) {
        case DeviceAllocationAction::kAllocate:
            return allocate(allocation);
        case DeviceAllocationAction::kFreeRequested:
            m_pending.fetch_add(allocation.sizeBytes, std::memory_order_relaxed);
            return;
        case DeviceAllocationAction::kFreeCompleted:
            return release(allocation);
        case DeviceAllocationAction::kSegmentAllocate:
        case DeviceAllocationAction::kSegmentMap:
            m_reserved.fetch_add(allocation.sizeBytes, std::memory_order_relaxed);
            return;
        case DeviceAllocationAction::kSegmentFree:
        case DeviceAllocationAction::kSegmentUnmap:
            m_reserved.fetch_sub(allocation.sizeBytes, std::memory_order_relaxed);
            return;
        case DeviceAllocationAction::kOutOfMemory:
            return noteOutOfMemory(allocation);
    }
}

void DeviceMemory::allocate(const DeviceAllocation& allocation) {
    const std::int64_t now =
        m_allocated.fetch_add(allocation.sizeBytes, std::memory_order_relaxed) +
        allocation.sizeBytes;
    if (now > m_peak.load(std::memory_order_relaxed)) m_peak.store(now, std::memory_order_relaxed);
    const BlockUse use = m_use();
    Block block{allocation.address, allocation.sizeBytes, {}, use.category, {}, false};
    block.layer = capture::effectiveContext().layer;
    capture::CaptureSession* session = m_session.load(std::memory_order_acquire);
    block.recorded = session != nullptr && session->detailed();
    if (block.recorded) block.owner = ownerId(*session, use.owner);
    drop(allocation.address);  // there only when its free was never reported
    // An event whose free is ambiguous would stand for ever.
    if (!insert(block)) return;
    m_byCategory[static_cast<std::size_t>(block.category)] += block.size;
    if (block.recorded) push(*session, block, MemoryAction::kAllocate);
}

void DeviceMemory::release(const DeviceAllocation& allocation) {
    m_allocated.fetch_sub(allocation.sizeBytes, std::memory_order_relaxed);
    m_pending.fetch_sub(allocation.sizeBytes, std::memory_order_relaxed);
    drop(allocation.address);
}

void DeviceMemory::drop(std::uint64_t address) {
    Block block;
    if (!remove(address, block)) return;
    m_byCategory[static_cast<std::size_t>(block.category)] -= block.size;
    capture::CaptureSession* session = m_session.load(std::memory_order_acquire);
    if (block.recorded && session != nullptr) push(*session, block, MemoryAction::kFree);
}

/// Blocks are multiples of 512 bytes; Fibonacci hashing spreads what is left.
std::size_t DeviceMemory::home(std::uint64_t address) const {
    const int shift = 64 - std::countr_zero(m_blocks.size());
    return static_cast<std::size_t>((address >> 9) * 0x9E3779B97F4A7C15u >> shift);
}

bool DeviceMemory::insert(const Block& block) {
    const std::size_t mask = m_blocks.size() - 1;
    std::size_t at = home(block.address);
    if (block.address == 0 || m_alive >= m_blocks.size() / 4 * 3) {
        m_untracked.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    while (m_blocks[at].address != 0) at = (at + 1) & mask;
    ++m_alive;
    m_blocks[at] = block;
    return true;
}

/// Moves followers up instead of leaving a gravestone: the table never silts up.
bool DeviceMemory::remove(std::uint64_t address, Block& block) {
    const std::size_t mask = m_blocks.size() - 1;
    std::size_t hole = home(address);
    while (m_blocks[hole].address != address) {
        if (m_blocks[hole].address == 0) return false;
        hole = (hole + 1) & mask;
    }
    block = m_blocks[hole];
    for (std::size_t at = (hole + 1) & mask; m_blocks[at].address != 0; at = (at + 1) & mask) {
        const std::size_t away = (at - home(m_blocks[at].address)) & mask;
        if (away < ((at - hole) & mask)) continue;  // already at home behind the hole
        m_blocks[hole] = m_blocks[at];
        hole = at;
    }
    m_blocks[hole] = {};
    --m_alive;
    return true;
}

/// Owners are static strings and few: their numbers are kept by address, without a lock.
StringId DeviceMemory::ownerId(capture::CaptureSession& session, const char* owner) {
    if (owner == nullptr) return capture::effectiveContext().operatorName;
    for (Owner& known : m_owners) {
        const char* text = known.text.load(std::memory_order_relaxed);
        if (text == nullptr && known.text.compare_exchange_strong(text, owner)) text = owner;
        if (text != owner) continue;
        if (known.generation.load(std::memory_order_acquire) != session.generation()) {
            known.id.store(session.intern(owner).value, std::memory_order_relaxed);
            known.generation.store(session.generation(), std::memory_order_release);
        }
        return {known.id.load(std::memory_order_relaxed)};
    }
    return session.intern(owner);
}

void DeviceMemory::push(capture::CaptureSession& session, const Block& block, MemoryAction action) {
    const capture::Context& context = capture::effectiveContext();
    MemoryEvent event;
    event.time = session.at(hostNow());
    event.address = block.address;
    event.size = {block.size};
    event.action = action;
    event.category = block.category;
    event.owner = block.owner;
    event.step = context.step;
    event.layer = block.layer;
    event.phase = context.phase;
    session.threadQueue().push(event);
}

void DeviceMemory::setOutsideBytes(std::int64_t bytes) {
    capture::CaptureSession* session = m_session.load(std::memory_order_acquire);
    if (session == nullptr) return;
    if (m_outsideGeneration != session->generation()) m_outside = {};
    m_outsideGeneration = session->generation();
    if (bytes == m_outside.size) return;
    if (m_outside.recorded) push(*session, m_outside, MemoryAction::kFree);
    m_outside = {kOutsideAddress, std::max<std::int64_t>(0, bytes), {}, MemoryCategory::kOutside,
                 kNoLayer,        bytes > 0 && session->detailed()};
    if (!m_outside.recorded) {
        m_outside.size = 0;  // asked again, it is reported
        return;
    }
    m_outside.owner = session->intern("context, NCCL and libraries");
    push(*session, m_outside, MemoryAction::kAllocate);
}

std::int64_t DeviceMemory::takePeakAllocatedBytes() {
    return m_peak.exchange(allocatedBytes(), std::memory_order_relaxed);
}

void DeviceMemory::noteOutOfMemory(const DeviceAllocation& allocation) {
    Note empty = Note::kEmpty;
    if (!m_note.compare_exchange_strong(empty, Note::kWriting, std::memory_order_acquire)) return;
    OutOfMemory& note = m_outOfMemory;
    note = {};
    note.asked = {allocation.sizeBytes};
    note.allocated = {allocatedBytes()};
    note.reserved = {reservedBytes()};
    note.pending = {pendingBytes()};
    note.free = {allocation.freeBytes};
    for (std::size_t i = 0; i < m_byCategory.size(); ++i) note.byCategory[i] = {m_byCategory[i]};
    const capture::Context& context = capture::effectiveContext();
    note.step = context.step;
    note.layer = context.layer;
    note.phase = context.phase;
    note.wanted = m_use();
    for (const Block& block : m_blocks) {
        if (block.size <= note.largest.back().size.count) continue;
        note.largest.back() = {{block.size}, block.category, block.layer};
        for (std::size_t i = note.largest.size() - 1; i > 0; --i)
            if (note.largest[i - 1].size < note.largest[i].size)
                std::swap(note.largest[i - 1], note.largest[i]);
    }
    m_note.store(Note::kReady, std::memory_order_release);
}

std::optional<OutOfMemory> DeviceMemory::takeOutOfMemory() {
    if (m_note.load(std::memory_order_acquire) != Note::kReady) return std::nullopt;
    const OutOfMemory note = m_outOfMemory;
    m_note.store(Note::kEmpty, std::memory_order_release);
    return note;
}

}  // namespace shardscope::collectors
