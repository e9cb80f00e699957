#include "profiler/collectors/allocator/device_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

namespace shardscope::collectors {
namespace {

thread_local BlockUse t_use;
BlockUse use() {
    return t_use;
}

class Kept final : public capture::EventSink {
public:
    void strings(StringId, const std::vector<std::string>& fresh) override {
        texts.insert(texts.end(), fresh.begin(), fresh.end());
    }
    void lane(const LaneFacts&) override {}
    void chunk(const columns::ChunkBytes& bytes) override {
        const auto decoded = columns::decodeMemory(bytes);
        ASSERT_TRUE(decoded);
        memory.insert(memory.end(), decoded->begin(), decoded->end());
    }
    [[nodiscard]] std::string text(StringId id) const {
        return id == kEmptyString ? "" : texts.at(id.value - 1);
    }
    std::vector<std::string> texts;
    std::vector<MemoryEvent> memory;
};

class DeviceMemoryTest : public testing::Test {
protected:
    DeviceMemoryTest() {
        m_memory.attach(&m_session);
        t_use = {MemoryCategory::kActivation, "hidden"};
    }
    void tell(DeviceAllocationAction action, std::uint64_t address, std::int64_t size,
              std::int32_t device = 0) {
        m_memory.take({action, address, size, device, 0, -1});
    }
    void allocate(std::uint64_t address, std::int64_t size) {
        tell(DeviceAllocationAction::kAllocate, address, size);
    }
    void release(std::uint64_t address, std::int64_t size) {
        tell(DeviceAllocationAction::kFreeRequested, address, size);
        tell(DeviceAllocationAction::kFreeCompleted, address, size);
    }
    const std::vector<MemoryEvent>& events() {
        m_session.drain(0, true);
        return m_kept.memory;
    }

    Kept m_kept;
    capture::CaptureSession m_session{{}, m_kept};
    DeviceMemory m_memory{{.device = 0, .blocks = 48}, &use};
};

TEST_F(DeviceMemoryTest, AFreeRepeatsWhatItsAllocationWasFor) {
    capture::Context& context = capture::threadContext();
    context = {{4}, {2}, Phase::kForward, {}};
    allocate(0x7000, 4096);
    t_use = {MemoryCategory::kGradient, "other"};
    context = {{5}, {1}, Phase::kBackward, {}};
    tell(DeviceAllocationAction::kFreeRequested, 0x7000, 4096);
    EXPECT_EQ(events().size(), 1U) << "the block is still in use on a stream";
    EXPECT_EQ(m_memory.pendingBytes(), 4096);
    tell(DeviceAllocationAction::kFreeCompleted, 0x7000, 4096);
    context = {};
    const auto& all = events();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].action, MemoryAction::kAllocate);
    EXPECT_EQ(all[1].action, MemoryAction::kFree);
    for (const MemoryEvent& event : all) {
        EXPECT_EQ(event.address, 0x7000U);
        EXPECT_EQ(event.size.count, 4096);
        EXPECT_EQ(event.category, MemoryCategory::kActivation);
        EXPECT_EQ(m_kept.text(event.owner), "hidden");
        EXPECT_EQ(event.layer.value, 2);
    }
    EXPECT_EQ(all[0].step.value, 4);
    EXPECT_EQ(all[1].step.value, 5);
    EXPECT_EQ(all[1].phase, Phase::kBackward);
    EXPECT_EQ(m_memory.allocatedBytes(), 0);
    EXPECT_EQ(m_memory.pendingBytes(), 0);
}

TEST_F(DeviceMemoryTest, WithoutAnOwnerTheRunningOperatorIsOne) {
    t_use.owner = nullptr;
    capture::threadContext().operatorName = m_session.intern("aten::mm");
    allocate(0x7000, 1);
    capture::threadContext() = {};
    ASSERT_EQ(events().size(), 1U);
    EXPECT_EQ(m_kept.text(events()[0].owner), "aten::mm");
}

// Autograd's device thread has no context of its own while the step thread waits for it.
TEST_F(DeviceMemoryTest, ThreadsWithoutAContextBookUnderTheOneLent) {
    const capture::Context step{{8}, {5}, Phase::kBackward, m_session.intern("MmBackward0")};
    capture::lendContext(&step);
    std::thread([&] {
        t_use = {MemoryCategory::kGradient, nullptr};
        allocate(0x7000, 1);
    }).join();
    capture::lendContext(nullptr);
    ASSERT_EQ(events().size(), 1U);
    EXPECT_EQ(events()[0].step.value, 8);
    EXPECT_EQ(events()[0].layer.value, 5);
    EXPECT_EQ(events()[0].phase, Phase::kBackward);
    EXPECT_EQ(m_kept.text(events()[0].owner), "MmBackward0");
}

TEST_F(DeviceMemoryTest, CountsSegmentsPeakAndOnlyItsOwnDevice) {
    tell(DeviceAllocationAction::kSegmentAllocate, 0x10000, 1 << 20);
    tell(DeviceAllocationAction::kSegmentMap, 0x200000, 1 << 21);
    tell(DeviceAllocationAction::kSegmentUnmap, 0x200000, 1 << 20);
    tell(DeviceAllocationAction::kAllocate, 0x9000, 999, 1);
    EXPECT_EQ(m_memory.reservedBytes(), 1 << 21);
    allocate(0x1000, 100);
    allocate(0x2000, 50);
    release(0x1000, 100);
    EXPECT_EQ(m_memory.allocatedBytes(), 50);
    EXPECT_EQ(m_memory.takePeakAllocatedBytes(), 150);
    EXPECT_EQ(m_memory.takePeakAllocatedBytes(), 50);
    tell(DeviceAllocationAction::kSegmentFree, 0x10000, 1 << 20);
    EXPECT_EQ(m_memory.reservedBytes(), 1 << 20);
}

TEST_F(DeviceMemoryTest, FreesOfRecordedBlocksAreToldInAPauseOthersAreNot) {
    allocate(0x1000, 1);
    m_session.setDetailed(false);
    allocate(0x2000, 2);
    release(0x1000, 1);
    m_session.setDetailed(true);
    release(0x2000, 2);
    release(0x3000, 0);  // from before anything was recorded
    const auto& all = events();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[1].address, 0x1000U);
    EXPECT_EQ(all[1].action, MemoryAction::kFree);
}

TEST_F(DeviceMemoryTest, AFullTableIsCountedAndNeverLeavesHalfAPair) {
    for (std::uint64_t i = 1; i <= 60; ++i) allocate(i << 9, 1);
    EXPECT_EQ(m_memory.untracked(), 12U);
    EXPECT_EQ(m_memory.allocatedBytes(), 60);
    for (std::uint64_t i = 1; i <= 60; ++i) release(i << 9, 1);
    EXPECT_EQ(m_memory.allocatedBytes(), 0);
    EXPECT_EQ(events().size(), 96U);
    std::map<std::uint64_t, int> alive;
    for (const MemoryEvent& event : events())
        alive[event.address] += event.action == MemoryAction::kAllocate ? 1 : -1;
    for (const auto& [address, count] : alive) EXPECT_EQ(count, 0) << address;
}

TEST_F(DeviceMemoryTest, AnAllocationOverABlockThatIsStillKnownFreesItFirst) {
    allocate(0x1000, 10);
    t_use.category = MemoryCategory::kGradient;
    allocate(0x1000, 20);
    const auto& all = events();
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[1].action, MemoryAction::kFree);
    EXPECT_EQ(all[1].size.count, 10);
    EXPECT_EQ(all[2].category, MemoryCategory::kGradient);
}

// Against a map, with addresses that collide.
TEST_F(DeviceMemoryTest, FindsEveryBlockAgainInAnyOrder) {
    std::mt19937 random(7);
    std::map<std::uint64_t, std::int64_t> alive;
    for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t address = (1 + random() % 64) << 9;
        const auto found = alive.find(address);
        if (found != alive.end()) {
            release(address, found->second);
            alive.erase(found);
        } else if (alive.size() < 48) {
            alive[address] = 1 + static_cast<std::int64_t>(random() % 1000);
            allocate(address, alive[address]);
        }
    }
    for (const auto& [address, size] : std::map(alive)) release(address, size);
    EXPECT_EQ(m_memory.untracked(), 0U);
    std::map<std::uint64_t, std::int64_t> balance;
    for (const MemoryEvent& event : events()) {
        const bool allocates = event.action == MemoryAction::kAllocate;
        balance[event.address] += allocates ? event.size.count : -event.size.count;
        EXPECT_GE(balance[event.address], 0);
    }
    for (const auto& [address, bytes] : balance) EXPECT_EQ(bytes, 0);
}

TEST_F(DeviceMemoryTest, TellsWhatFilledTheDeviceWhenItIsFull) {
    EXPECT_FALSE(m_memory.takeOutOfMemory());
    tell(DeviceAllocationAction::kSegmentAllocate, 0x100000, 9000);
    for (std::uint64_t i = 1; i <= 10; ++i) {
        t_use.category = i == 10 ? MemoryCategory::kOptimizerState : MemoryCategory::kActivation;
        allocate(i << 9, static_cast<std::int64_t>(i * 100));
    }
    t_use = {MemoryCategory::kGatheredParameter, "gathered"};
    capture::threadContext() = {{3}, {7}, Phase::kForward, {}};
    m_memory.take({DeviceAllocationAction::kOutOfMemory, 0, 5000, 0, 0, 1234});
    m_memory.take({DeviceAllocationAction::kOutOfMemory, 0, 1, 0, 0, 1});  // the retry
    capture::threadContext() = {};
    const auto note = m_memory.takeOutOfMemory();
    ASSERT_TRUE(note);
    EXPECT_EQ(note->asked.count, 5000);
    EXPECT_EQ(note->free.count, 1234);
    EXPECT_EQ(note->allocated.count, 5500);
    EXPECT_EQ(note->reserved.count, 9000);
    EXPECT_EQ(note->byCategory[static_cast<std::size_t>(MemoryCategory::kActivation)].count, 4500);
    EXPECT_EQ(note->byCategory[static_cast<std::size_t>(MemoryCategory::kOptimizerState)].count,
              1000);
    EXPECT_EQ(note->largest[0].size.count, 1000);
    EXPECT_EQ(note->largest[0].category, MemoryCategory::kOptimizerState);
    EXPECT_EQ(note->largest[7].size.count, 300);
    EXPECT_EQ(note->layer.value, 7);
    EXPECT_EQ(note->wanted.category, MemoryCategory::kGatheredParameter);
    EXPECT_FALSE(m_memory.takeOutOfMemory());
}

TEST_F(DeviceMemoryTest, OutsideBytesAreOneBandThatIsReplaced) {
    m_memory.setOutsideBytes(500);
    m_memory.setOutsideBytes(500);
    m_memory.setOutsideBytes(700);
    m_memory.setOutsideBytes(0);
    const auto& all = events();
    ASSERT_EQ(all.size(), 4U);
    std::int64_t alive = 0;
    std::vector<std::int64_t> seen;
    for (const MemoryEvent& event : all) {
        EXPECT_EQ(event.category, MemoryCategory::kOutside);
        EXPECT_EQ(event.address, all[0].address);
        alive += event.action == MemoryAction::kAllocate ? event.size.count : -event.size.count;
        seen.push_back(alive);
    }
    EXPECT_THAT(seen, testing::ElementsAre(500, 0, 700, 0));
    EXPECT_EQ(m_memory.allocatedBytes(), 0);
}

TEST_F(DeviceMemoryTest, ANewSessionHearsOfTheOutsideAndNumbersOwnersAnew) {
    allocate(0x1000, 1);
    m_memory.setOutsideBytes(500);
    Kept kept;
    capture::CaptureSession next({}, kept);
    next.intern("something else first");
    m_memory.attach(&next);
    m_memory.setOutsideBytes(500);
    allocate(0x2000, 1);
    next.drain(0, true);
    m_memory.attach(nullptr);
    allocate(0x3000, 1);
    m_memory.setOutsideBytes(1);
    ASSERT_EQ(kept.memory.size(), 2U);
    EXPECT_EQ(kept.memory[0].size.count, 500);
    EXPECT_EQ(kept.text(kept.memory[1].owner), "hidden");
}

// Threads take turns under the allocator's lock; others read the totals.
TEST_F(DeviceMemoryTest, ManyThreadsThroughTheHook) {
    DeviceMemory memory({.device = 0, .blocks = 1 << 12}, &use);
    memory.attach(&m_session);
    DeviceMemory::install(&memory);
    const DeviceAllocationHook hook = DeviceMemory::hook();
    std::mutex allocatorsLock;
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            t_use = {MemoryCategory::kTemporary, t % 2 == 0 ? "even" : "odd"};
            for (std::uint64_t i = 0; i < 500; ++i) {
                const std::uint64_t address = (t * 1000 + i + 1) << 9;
                for (const auto action :
                     {DeviceAllocationAction::kAllocate, DeviceAllocationAction::kFreeRequested,
                      DeviceAllocationAction::kFreeCompleted}) {
                    const std::lock_guard lock(allocatorsLock);
                    hook({action, address, 8, 0, 0, -1});
                }
                EXPECT_GE(memory.reservedBytes(), 0);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    DeviceMemory::install(nullptr);
    hook({DeviceAllocationAction::kAllocate, 0x1000, 8, 0, 0, -1});
    EXPECT_EQ(memory.allocatedBytes(), 0);
    EXPECT_EQ(events().size(), 4000U);
    std::set<std::string> owners;
    for (const MemoryEvent& event : events()) owners.insert(m_kept.text(event.owner));
    EXPECT_THAT(owners, testing::ElementsAre("even", "odd"));
}

}  // namespace
}  // namespace shardscope::collectors
