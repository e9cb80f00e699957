#include "profiler/collectors/allocator/recording_allocator.h"

#include "profiler/collectors/allocator/large_blocks.h"
#include "storage/model/host_clock.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

namespace shardscope::collectors {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr int kPriority = 100;  // above LibTorch's own

struct alignas(kAlignment) Header {
    std::size_t size;
    MemoryCategory category;
    bool recorded;
    StringId owner;
    LayerIndex layer;
};
static_assert(sizeof(Header) == kAlignment);

// c10::SetCPUAllocator takes an object of static lifetime, and its deleter a plain function.
std::atomic<capture::CaptureSession*> g_session{nullptr};
std::atomic<std::int64_t> g_allocated{0};
std::atomic<std::int64_t> g_peak{0};
BlockUse (*g_use)() = nullptr;
std::mutex g_failureMutex;
std::optional<AllocationFailure> g_failure;  // guarded by g_failureMutex

/// Id of a static string; owners are few, so a thread's last one usually fits.
StringId ownerId(capture::CaptureSession& session, const char* owner) {
    if (owner == nullptr) return capture::threadContext().operatorName;
    struct Last {
        const char* text = nullptr;
        std::uint64_t generation = 0;
        StringId id;
    };
    thread_local Last last;
    if (last.text != owner || last.generation != session.generation()) {
        last = {owner, session.generation(), session.intern(owner)};
    }
    return last.id;
}

void report(capture::CaptureSession& session, const Header& header, MemoryAction action) {
    const capture::Context& context = capture::threadContext();
    MemoryEvent event;
    event.time = session.at(hostNow());
    event.address = reinterpret_cast<std::uint64_t>(&header + 1);
    event.size = {static_cast<std::int64_t>(header.size)};
    event.action = action;
    event.category = header.category;
    event.owner = header.owner;
    event.step = context.step;
    event.layer = header.layer;
    event.phase = context.phase;
    session.threadQueue().push(event);
}

/// Two threads may race for the peak; the loser's few bytes are not worth a loop.
void raise(std::int64_t size) {
    const std::int64_t now = g_allocated.fetch_add(size, std::memory_order_relaxed) + size;
    if (now > g_peak.load(std::memory_order_relaxed)) g_peak.store(now, std::memory_order_relaxed);
}

/// Outlives every tensor.
LargeBlocks& largeBlocks() {
    static auto* only = new LargeBlocks();
    return *only;
}

std::size_t wholeBytes(std::size_t size) {
    return (size + sizeof(Header) + kAlignment - 1) / kAlignment * kAlignment;
}

void* takeMemory(std::size_t whole) {
    return whole >= LargeBlocks::kLeast ? largeBlocks().take(whole)
                                        : std::aligned_alloc(kAlignment, whole);
}

void giveMemory(void* memory, std::size_t whole) {
    if (whole >= LargeBlocks::kLeast) {
        largeBlocks().give(memory, whole);
    } else {
        std::free(memory);
    }
}

void release(void* block) {
    if (block == nullptr) return;
    Header* header = static_cast<Header*>(block) - 1;
    g_allocated.fetch_sub(static_cast<std::int64_t>(header->size), std::memory_order_relaxed);
    capture::CaptureSession* session = g_session.load(std::memory_order_acquire);
    if (header->recorded && session != nullptr) report(*session, *header, MemoryAction::kFree);
    giveMemory(header, wholeBytes(header->size));
}

[[noreturn]] void fail(std::size_t size, const BlockUse& use) {
    {
        const std::lock_guard lock(g_failureMutex);
        g_failure = AllocationFailure{size, use};
    }
    throw std::bad_alloc();
}

class RecordingAllocator final : public c10::Allocator {
public:
    c10::DataPtr allocate(std::size_t size) override {
        if (size == 0) return {nullptr, nullptr, &release, c10::Device(c10::DeviceType::CPU)};
        void* memory = takeMemory(wholeBytes(size));
        const BlockUse use = g_use();
        if (memory == nullptr) fail(size, use);
        Header* header = ::new (memory) Header{};
        header->size = size;
        header->category = use.category;
        raise(static_cast<std::int64_t>(size));
        capture::CaptureSession* session = g_session.load(std::memory_order_acquire);
        if (session != nullptr && session->detailed()) {
            header->recorded = true;
            header->owner = ownerId(*session, use.owner);
            header->layer = capture::threadContext().layer;
            report(*session, *header, MemoryAction::kAllocate);
        }
        void* block = header + 1;
        return {block, block, &release, c10::Device(c10::DeviceType::CPU)};
    }

    c10::DeleterFnPtr raw_deleter() const override { return &release; }

    void copy_data(void* destination, const void* source, std::size_t count) const override {
        default_copy_data(destination, source, count);
    }
};

}  // namespace

void installRecordingAllocator(BlockUse (*use)()) {
    static RecordingAllocator allocator;
    g_use = use;
    // Smaller ones, and what libraries ask for, stay in the heap: a mapping costs a page fault for
    // every 4 KiB, again and again.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 16 << 20);
    c10::SetCPUAllocator(&allocator, kPriority);
}

void attachAllocator(capture::CaptureSession* session) {
    g_session.store(session, std::memory_order_release);
}

std::optional<AllocationFailure> takeAllocationFailure() {
    const std::lock_guard lock(g_failureMutex);
    return std::exchange(g_failure, std::nullopt);
}

std::int64_t allocatedBytes() {
    return g_allocated.load(std::memory_order_relaxed);
}

std::int64_t takePeakAllocatedBytes() {
    return g_peak.exchange(allocatedBytes(), std::memory_order_relaxed);
}

}  // namespace shardscope::collectors
