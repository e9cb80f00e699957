// Turns the words of a device's caching allocator into memory events with a category.
//
// take() runs under the allocator's lock: it never locks or allocates, but for the first block of
// an owner (its name is numbered) and of a thread (it gets its queue). One device; everything
// else may be read from any thread. What it holds outlives sessions and pauses.
#pragma once

#include "profiler/capture/capture_session.h"
#include "profiler/collectors/allocator/recording_allocator.h"
#include "storage/model/events.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::collectors {

// One word of the device's caching allocator, vendor-free.

enum class DeviceAllocationAction : std::uint8_t {
    kAllocate,
    kFreeRequested,    ///< the tensor is gone; the block may still be in use on a stream
    kFreeCompleted,    ///< the block is back in the pool
    kSegmentAllocate,  ///< the allocator took memory from the driver
    kSegmentFree,
    kSegmentMap,
    kSegmentUnmap,
    kOutOfMemory,  ///< size is what was asked for
};

struct DeviceAllocation {
    DeviceAllocationAction action = DeviceAllocationAction::kAllocate;
    std::uint64_t address = 0;
    std::int64_t sizeBytes = 0;
    std::int32_t device = 0;
    std::uint64_t stream = 0;
    std::int64_t freeBytes = -1;  ///< kOutOfMemory: what the driver had left
};

/// Called under the allocator's lock on the allocating thread: no LibTorch call, no blocking.
using DeviceAllocationHook = void (*)(const DeviceAllocation& allocation);

struct DeviceMemoryOptions {
    std::int32_t device = 0;
    std::size_t blocks = 1 << 17;  ///< alive at once; a quarter of the table stays empty
};

/// What an out-of-memory sentence needs.
struct OutOfMemory {
    struct Block {
        Bytes size;
        MemoryCategory category = MemoryCategory::kOther;
        LayerIndex layer = kNoLayer;
    };
    Bytes asked;
    Bytes allocated;    ///< in live blocks
    Bytes reserved;     ///< taken from the driver
    Bytes pending;      ///< freed, but still in use on a stream
    Bytes free = {-1};  ///< what the driver had left; -1: not known
    std::array<Bytes, kMemoryCategoryCount> byCategory{};
    std::array<Block, 8> largest{};  ///< live ones, largest first; size 0: no more
    StepIndex step = kNoStep;
    LayerIndex layer = kNoLayer;
    Phase phase = Phase::kNone;
    BlockUse wanted;  ///< what the block that did not fit was for
};

class DeviceMemory {
public:
    /// `use` is asked on the allocating thread.
    DeviceMemory(const DeviceMemoryOptions& options, BlockUse (*use)());
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    /// Where hook() leads; null: nowhere. Must outlive the allocator once installed.
    static void install(DeviceMemory* memory);
    [[nodiscard]] static DeviceAllocationHook hook();

    /// Where events go from now on; null: nowhere. Frees of recorded blocks are always reported.
    void attach(capture::CaptureSession* session);

    void take(const DeviceAllocation& allocation);

    /// Device memory that the allocator does not manage: context, NCCL, libraries. One band of
    /// category kOutside; each call replaces the one before. Not from within take().
    void setOutsideBytes(std::int64_t bytes);

    [[nodiscard]] std::int64_t allocatedBytes() const { return m_allocated.load(); }
    [[nodiscard]] std::int64_t reservedBytes() const { return m_reserved.load(); }
    /// Freed by their tensors, not yet by the streams that use them.
    [[nodiscard]] std::int64_t pendingBytes() const { return m_pending.load(); }
    /// Most bytes in live blocks since the last call.
    [[nodiscard]] std::int64_t takePeakAllocatedBytes();
    /// Blocks that found no room in the table: their events are missing.
    [[nodiscard]] std::uint64_t untracked() const { return m_untracked.load(); }
    /// The first one since the last call.
    [[nodiscard]] std::optional<OutOfMemory> takeOutOfMemory();

private:
    struct Block {
        std::uint64_t address = 0;  ///< 0: empty
        std::int64_t size = 0;
        StringId owner;
        MemoryCategory category = MemoryCategory::kOther;
        LayerIndex layer = kNoLayer;
        bool recorded = false;
    };
    struct Owner {
        std::atomic<const char*> text{nullptr};
        std::atomic<std::uint64_t> generation{0};
        std::atomic<std::uint32_t> id{0};
    };
    enum class Note : std::uint8_t { kEmpty, kWriting, kReady };

    void allocate(const DeviceAllocation& allocation);
    void release(const DeviceAllocation& allocation);
    void drop(std::uint64_t address);
    void noteOutOfMemory(const DeviceAllocation& allocation);
    bool insert(const Block& block);
    bool remove(std::uint64_t address, Block& block);
    [[nodiscard]] std::size_t home(std::uint64_t address) const;
    StringId ownerId(capture::CaptureSession& session, const char* owner);
    void push(capture::CaptureSession& session, const Block& block, MemoryAction action);

    const std::int32_t m_device;
    BlockUse (*const m_use)();
    std::atomic<capture::CaptureSession*> m_session{nullptr};

    // Under the allocator's lock.
    std::vector<Block> m_blocks;  ///< open addressing, linear probing
    std::size_t m_alive = 0;
    std::array<std::int64_t, kMemoryCategoryCount> m_byCategory{};

    std::array<Owner, 64> m_owners;
    std::atomic<std::int64_t> m_allocated{0}, m_reserved{0}, m_pending{0}, m_peak{0};
    std::atomic<std::uint64_t> m_untracked{0};
    std::atomic<Note> m_note{Note::kEmpty};
    OutOfMemory m_outOfMemory;  ///< whose turn it is says m_note

    // The worker's thread.
    Block m_outside;
    std::uint64_t m_outsideGeneration = 0;
};

}  // namespace shardscope::collectors
