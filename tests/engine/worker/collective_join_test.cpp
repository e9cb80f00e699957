// The communicator's report, NCCL's records and the tracer's kernel, from three threads.
#include "engine/worker/gpu_tracing.h"
#include "tests/profiler/collectors/nccl/fake_nccl.h"

#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <thread>

namespace shardscope::worker {
namespace {

using collectors::NcclProfiler;
using collectors::test::FakeNccl;
using testing::IsEmpty;
using testing::SizeIs;

CollectiveEvent event(std::uint64_t sequence) {
    CollectiveEvent reported;
    reported.operation = CollectiveOp::kAllReduce;
    reported.dtype = DataType::kBFloat16;
    reported.sequence = sequence;
    reported.size = {256};
    reported.issue = {100};
    reported.start = {200};
    reported.end = {300};
    return reported;
}

/// Ids of the launches that NCCL made, as the tracer would see them.
std::vector<std::uint64_t> g_launches;
const capture::DeviceAnnotator kAnnotator{[](capture::AnnotationStack stack, std::uint64_t id) {
                                              if (stack == capture::AnnotationStack::kNcclLaunch)
                                                  g_launches.push_back(id);
                                          },
                                          [](capture::AnnotationStack) {}};

class CollectiveJoinTest : public testing::Test {
protected:
    CollectiveJoinTest() {
        g_launches.clear();
        NcclProfiler::install(&m_profiler);
        capture::deviceAnnotator().store(&kAnnotator);
        m_communicator = m_nccl.initialise(0xabc, "dp0", 2);
    }
    ~CollectiveJoinTest() override {
        FakeNccl::finalise(m_communicator);
        capture::deviceAnnotator().store(nullptr);
        NcclProfiler::install(nullptr);
    }

    /// NCCL's part of collective `sequence`; the launch's id.
    std::uint64_t call(std::uint64_t sequence) {
        const capture::CollectiveScope scope({0, sequence});
        m_nccl.collective(m_communicator, "AllReduce", 128, "ncclBfloat16");
        return g_launches.back();
    }
    void kernel(std::uint64_t launch, std::int64_t startNs, std::int64_t endNs) {
        m_join.kernel({launch, {startNs}, {endNs}, kEmptyString});
    }
    void collect(bool everything = false) {
        m_join.collect(&m_profiler, everything,
                       [this](const CollectiveEvent& each) { m_stored.push_back(each); });
    }

    NcclProfiler m_profiler;
    FakeNccl m_nccl;
    FakeNccl::Communicator m_communicator;
    std::vector<std::string> m_texts{""};
    CollectiveJoin m_join{[this](std::string_view text) {
        m_texts.emplace_back(text);
        return StringId{static_cast<std::uint32_t>(m_texts.size() - 1)};
    }};
    std::vector<CollectiveEvent> m_stored;
};

TEST_F(CollectiveJoinTest, TakesTheKernelsTimesAndNcclsAlgorithm) {
    m_join.expect(true);
    kernel(call(1), 220, 280);
    m_join.report(event(1));
    collect();
    ASSERT_THAT(m_stored, SizeIs(1));
    EXPECT_EQ(m_stored[0].start.ns, 220);
    EXPECT_EQ(m_stored[0].end.ns, 280);
    EXPECT_EQ(m_stored[0].issue.ns, 100);
    EXPECT_EQ(m_texts.at(m_stored[0].algorithm.value), "RING");
    EXPECT_EQ(m_texts.at(m_stored[0].protocol.value), "LL128");
    EXPECT_EQ(m_join.counts().joined, 1u);
}

TEST_F(CollectiveJoinTest, WaitsForAKernelThatIsStillOnItsWay) {
    m_join.expect(true);
    const std::uint64_t launch = call(1);
    m_join.report(event(1));
    collect();
    EXPECT_THAT(m_stored, IsEmpty());
    kernel(launch, 220, 280);
    collect();
    ASSERT_THAT(m_stored, SizeIs(1));
    EXPECT_EQ(m_stored[0].start.ns, 220);
    collect(true);
    EXPECT_THAT(m_stored, SizeIs(1)) << "stored twice";
}

TEST_F(CollectiveJoinTest, AKernelThatNeverComesLeavesTheEventsTimes) {
    m_join.expect(true);
    call(1);
    m_join.report(event(1));
    for (int later = 0; later < 20; ++later) {
        kernel(call(0), 400, 500);  // of somebody else
        collect();
    }
    ASSERT_THAT(m_stored, SizeIs(1));
    EXPECT_EQ(m_stored[0].start.ns, 200);
    EXPECT_EQ(m_stored[0].end.ns, 300);
    EXPECT_EQ(m_join.counts().unjoined, 1u);
}

TEST_F(CollectiveJoinTest, TheEndWaitsForNothing) {
    m_join.expect(true);
    call(1);
    m_join.report(event(1));
    m_join.report(event(2));
    collect(true);
    EXPECT_THAT(m_stored, SizeIs(2));
}

TEST_F(CollectiveJoinTest, WhatNobodyElseTellsOfComesOutAtOnce) {
    m_join.report(event(1));  // tracing is off: nothing was expected
    m_join.expect(true);
    m_join.report(event(2));
    m_join.expect(false);
    m_join.report(event(3));
    collect();
    ASSERT_THAT(m_stored, SizeIs(2));
    EXPECT_EQ(m_stored[0].sequence + m_stored[1].sequence, 4u);
    EXPECT_EQ(m_stored[0].start.ns, 200);
}

TEST_F(CollectiveJoinTest, WorksWithoutNcclsProfiler) {
    m_join.report(event(1));
    m_join.collect(nullptr, false,
                   [this](const CollectiveEvent& each) { m_stored.push_back(each); });
    EXPECT_THAT(m_stored, SizeIs(1));
}

TEST_F(CollectiveJoinTest, LosesAndDoublesNothingBetweenThreads) {
    constexpr std::uint64_t kCount = 400;
    std::vector<std::uint64_t> launches;
    for (std::uint64_t i = 1; i <= kCount; ++i) launches.push_back(call(i));
    m_join.expect(true);
    std::atomic<int> running{2};
    std::thread watcher([&] {
        for (std::uint64_t i = 1; i <= kCount; ++i) m_join.report(event(i));
        --running;
    });
    std::thread decoder([&] {
        for (const std::uint64_t launch : launches) kernel(launch, 220, 280);
        --running;
    });
    while (running > 0) collect();
    watcher.join();
    decoder.join();
    collect(true);
    std::set<std::uint64_t> seen;
    for (const CollectiveEvent& each : m_stored) {
        EXPECT_EQ(each.start.ns, 220);
        seen.insert(each.sequence);
    }
    EXPECT_EQ(m_stored.size(), kCount);
    EXPECT_EQ(seen.size(), kCount);
    EXPECT_EQ(m_join.counts().joined, kCount);
}

}  // namespace
}  // namespace shardscope::worker
