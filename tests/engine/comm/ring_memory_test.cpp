// What a ring's sums need is what it says, to the byte.
#include "engine/control/observer.h"
#include "tests/engine/comm/rank_errors.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <mutex>
#include <vector>

namespace shardscope {
namespace {

using comm::Accumulate;
using comm::Communicator;
using comm::SymmetricBuffer;

/// What one rank holds in communication buffers by what was reported of it; any thread.
class Held final : public control::Observer {
public:
    void stepBegin(std::int32_t) override {}
    void stepEnd(const control::StepReport&) override {}
    void phaseBegin(Phase, LayerIndex) override {}
    void phaseEnd(const control::PhaseReport&) override {}
    void collective(const control::CollectiveReport&) override {}
    void metric(control::Metric, std::int32_t, double) override {}
    void buffer(const control::BufferReport& report) override {
        const std::lock_guard lock(m_mutex);
        EXPECT_EQ(report.category, MemoryCategory::kCommunication);
        EXPECT_GT(report.timeNs, 0);
        ++m_reports;
        if (report.action == MemoryAction::kAllocate) {
            EXPECT_TRUE(m_blocks.emplace(report.address, report.sizeBytes).second);
        } else {
            const auto block = m_blocks.find(report.address);
            ASSERT_NE(block, m_blocks.end());
            EXPECT_EQ(block->second, report.sizeBytes);
            m_blocks.erase(block);
        }
    }
    std::int64_t bytes() {
        const std::lock_guard lock(m_mutex);
        std::int64_t all = 0;
        for (const auto& [address, size] : m_blocks) all += size;
        return all;
    }
    int reports() {
        const std::lock_guard lock(m_mutex);
        return m_reports;
    }

private:
    std::mutex m_mutex;
    std::map<const void*, std::int64_t> m_blocks;  // guarded by m_mutex
    int m_reports = 0;                             // guarded by m_mutex
};

/// Runs `body` on ranks whose communicators tell `held`; all memory is given back at the end.
template <std::size_t kRanks>
void onRing(const std::function<void(Communicator&, Held&)>& body) {
    if (!comm::hasGloo()) GTEST_SKIP() << "this build is without Gloo: no ring to look at";
    std::array<Held, kRanks> held;
    auto segment = comm::Segment::anonymous(std::size_t{1} << 20, kRanks);
    ASSERT_TRUE(segment);
    const auto errors = test::errorsOf(
        kRanks,
        [&](int rank) {
            const auto host = comm::makeDirectCommunicator(*segment, rank, nullptr, "threads");
            auto made = comm::makeGlooCommunicator(
                {.host = host.get(), .memory = &held[static_cast<std::size_t>(rank)]});
            host->barrier({}).wait();
            return made;
        },
        [&](Communicator& c) { body(c, held[static_cast<std::size_t>(c.rank())]); });
    for (const std::string& error : errors) EXPECT_EQ(error, "");
    for (Held& each : held) EXPECT_EQ(each.bytes(), 0);
}

void reduceScatter(Communicator& c, std::size_t count, DataType dtype) {
    const SymmetricBuffer full = c.allocate(count, dtype);
    std::vector<float> out(count / static_cast<std::size_t>(c.size()));
    c.reduceScatter(full, out.data(), Accumulate::kYes, {}).wait();
}

TEST(RingMemory, SumsOfFp32TakeTwoPartsAndGrowWithTheLargest) {
    onRing<3>([](Communicator& c, Held& held) {
        EXPECT_EQ(held.bytes(), 0);
        reduceScatter(c, 300, DataType::kFloat32);
        EXPECT_EQ(held.bytes(), 2 * 100 * 4);
        reduceScatter(c, 150, DataType::kFloat32);
        EXPECT_EQ(held.reports(), 2);  // there is room
        c.allReduce(c.allocate(1000, DataType::kFloat32), {}).wait();
        EXPECT_EQ(held.bytes(), 2 * 334 * 4);
        EXPECT_EQ(held.reports(), 6);  // both were given back first
    });
}

TEST(RingMemory, SumsOfHalvesTakeThisRanksPartOfEveryRank) {
    onRing<3>([](Communicator& c, Held& held) {
        reduceScatter(c, 300, DataType::kBFloat16);
        EXPECT_EQ(held.bytes(), 3 * 100 * 2);
        c.allReduce(c.allocate(1000, DataType::kFloat16), {}).wait();
        const std::int64_t part = c.rank() == 2 ? 334 : 333;
        EXPECT_EQ(held.bytes(), 3 * part * 2);
        reduceScatter(c, 30, DataType::kFloat32);
        EXPECT_EQ(held.bytes(), 3 * part * 2 + 2 * 10 * 4);
    });
}

/// Two ranks pass no sum on: one part is enough.
TEST(RingMemory, AGroupHasItsOwnAndGivesItBack) {
    onRing<4>([](Communicator& c, Held& held) {
        reduceScatter(c, 400, DataType::kFloat32);
        const std::vector<int> pair{c.rank() / 2 * 2, c.rank() / 2 * 2 + 1};
        {
            const auto part = c.split(pair, 1 + static_cast<std::uint32_t>(c.rank()) / 2);
            reduceScatter(*part, 400, DataType::kFloat32);
            EXPECT_EQ(held.bytes(), 2 * 100 * 4 + 200 * 4);
            const std::vector<int> alone{part->rank()};
            const auto one = part->split(alone, 3 + static_cast<std::uint32_t>(c.rank()));
            reduceScatter(*one, 400, DataType::kFloat32);
            reduceScatter(*one, 400, DataType::kFloat16);
            EXPECT_EQ(held.bytes(), 2 * 100 * 4 + 200 * 4);  // nothing comes from anybody
        }
        EXPECT_EQ(held.bytes(), 2 * 100 * 4);
        c.barrier({}).wait();
    });
}

TEST(RingMemory, WhatIsOnlyMovedNeedsNone) {
    onRing<2>([](Communicator& c, Held& held) {
        const SymmetricBuffer whole = c.allocate(64, DataType::kFloat32);
        std::vector<float> out(128);
        c.allGather(whole, out.data(), {}).wait();
        c.allGatherInPlace(whole, {}).wait();
        c.broadcast(whole, 1, {}).wait();
        c.allToAll(whole, out.data(), {}).wait();
        c.barrier({}).wait();
        EXPECT_EQ(held.reports(), 0);
    });
}

}  // namespace
}  // namespace shardscope
