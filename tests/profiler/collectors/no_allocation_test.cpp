// What vendors call under locks or on the launch path must not allocate.
#include "profiler/collectors/allocator/device_memory.h"
#include "profiler/collectors/nccl/nccl_profiler.h"
#include "tests/profiler/collectors/nccl/fake_nccl.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace {
thread_local bool t_counting = false;
thread_local int t_allocations = 0;
}  // namespace

void* operator new(std::size_t size) {
    if (t_counting) ++t_allocations;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    if (t_counting) ++t_allocations;
    return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace shardscope::collectors {
namespace {

/// Allocations of this thread while it is alive.
class Counting {
public:
    Counting() {
        t_allocations = 0;
        t_counting = true;
    }
    ~Counting() { t_counting = false; }
};

void everyEvent(void* context) {
    void* api = nullptr;
    void* launch = nullptr;
    void* task = nullptr;
    auto descriptor = test::FakeNccl::describe(nccl::kCollApi, nullptr);
    descriptor.collApi = {"AllReduce", 10, "ncclFloat32", 0, nullptr, false};
    ncclProfiler_v5.startEvent(context, &api, &descriptor);
    descriptor.type = nccl::kKernelLaunch;
    ncclProfiler_v5.startEvent(context, &launch, &descriptor);
    ncclProfiler_v5.stopEvent(launch);
    descriptor = test::FakeNccl::describe(nccl::kColl, api);
    descriptor.coll = {1, "AllReduce", nullptr, nullptr, 10,     0, "ncclFloat32",
                       2, 4,           "RING",  "LL",    nullptr};
    ncclProfiler_v5.startEvent(context, &task, &descriptor);
    ncclProfiler_v5.stopEvent(task);
    ncclProfiler_v5.stopEvent(api);
    ncclProfiler_v5.stopEvent(api);
    descriptor.type = nccl::kProxyOp;
    ncclProfiler_v5.startEvent(context, &task, &descriptor);
}

TEST(NoAllocation, InNcclsCallbacksEvenWhenRingsAreFull) {
    NcclProfiler profiler({.rings = 1, .ringCapacity = 64});
    NcclProfiler::install(&profiler);
    test::FakeNccl nccl;
    auto world = nccl.initialise(1, "dp0", 4);
    {
        const Counting counting;
        for (int i = 0; i < 200; ++i) everyEvent(world.context);
    }
    NcclProfiler::install(nullptr);
    EXPECT_EQ(t_allocations, 0);
    EXPECT_GT(profiler.counts().dropped, 0U);
}

class Nowhere final : public capture::EventSink {
    void strings(StringId, const std::vector<std::string>&) override {}
    void lane(const LaneFacts&) override {}
    void chunk(const columns::ChunkBytes&) override {}
};

TEST(NoAllocation, InTheAllocatorsHookAfterTheFirstBlock) {
    Nowhere nowhere;
    capture::CaptureSession session({}, nowhere);
    DeviceMemory memory({.device = 0, .blocks = 64}, [] {
        return BlockUse{MemoryCategory::kActivation, "hidden"};
    });
    memory.attach(&session);
    memory.take({DeviceAllocationAction::kAllocate, 1 << 9, 1, 0, 0, -1});
    {
        const Counting counting;
        for (std::uint64_t i = 2; i < 200; ++i)
            memory.take({DeviceAllocationAction::kAllocate, i << 9, 1, 0, 0, -1});
        memory.take({DeviceAllocationAction::kOutOfMemory, 0, 100, 0, 0, 5});
        for (std::uint64_t i = 1; i < 200; ++i)
            memory.take({DeviceAllocationAction::kFreeCompleted, i << 9, 1, 0, 0, -1});
    }
    EXPECT_EQ(t_allocations, 0);
    EXPECT_GT(memory.untracked(), 0U);
}

TEST(NoAllocation, TheCounterCounts) {
    {
        const Counting counting;
        delete new int(3);
        std::vector<int>(10).swap(*std::make_unique<std::vector<int>>(20));
    }
    EXPECT_GE(t_allocations, 2);
}

}  // namespace
}  // namespace shardscope::collectors
