#include "profiler/collectors/nccl/nccl_join.h"

#include "profiler/collectors/nccl/nccl_profiler.h"
#include "tests/profiler/collectors/nccl/fake_nccl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace shardscope::collectors {
namespace {

class NcclJoinTest : public testing::Test {
protected:
    NcclJoinTest()
        : m_join([this](std::string_view text) {
              m_texts.emplace_back(text);
              return StringId{static_cast<std::uint32_t>(m_texts.size())};
          }) {}
    static CollectiveEvent asked(std::uint64_t sequence, std::uint32_t group = 0) {
        CollectiveEvent event;
        event.operation = CollectiveOp::kAllReduce;
        event.cause = Cause::kGradient;
        event.layer = {3};
        event.step = {11};
        event.group = group;
        event.sequence = sequence;
        event.size = {2000};
        event.issue = {10};
        event.start = {100};
        event.end = {900};
        return event;
    }
    static NcclRecord task(std::uint64_t sequence, std::uint64_t launch) {
        NcclRecord record;
        record.kind = NcclRecordKind::kCollective;
        record.own = {0, sequence};
        record.launch = launch;
        record.ranks = 4;
        record.function = "AllReduce";
        record.dataType = record.callDataType = "ncclBfloat16";
        record.count = record.callCount = 1000;
        record.algorithm = "NVLS";
        record.protocol = "SIMPLE";
        return record;
    }
    static NcclRecord launched(std::uint64_t launch, std::uint64_t sequence = 0) {
        NcclRecord record;
        record.kind = NcclRecordKind::kLaunch;
        record.own = {0, sequence};
        record.launch = launch;
        return record;
    }
    std::vector<CollectiveEvent> take(std::int64_t now, bool everything = false) {
        std::vector<CollectiveEvent> events;
        m_join.take(events, {now}, everything);
        return events;
    }
    [[nodiscard]] std::string text(StringId id) const {
        return id == kEmptyString ? "" : m_texts.at(id.value - 1);
    }

    std::vector<std::string> m_texts;
    NcclJoin m_join;
};

constexpr std::int64_t kWait = 2'000'000'000;

TEST_F(NcclJoinTest, OneEventInWhateverOrderTheThreeArrive) {
    std::array<int, 3> order{0, 1, 2};
    std::uint64_t sequence = 0;
    do {
        ++sequence;
        for (const int which : order) {
            EXPECT_TRUE(take(5).empty());
            if (which == 0) m_join.report(asked(sequence), true, {5});
            if (which == 1) m_join.record(task(sequence, 70 + sequence), {5});
            if (which == 2) m_join.kernel({70 + sequence, {200}, {700}, {}}, {5});
        }
        const auto events = take(5);
        ASSERT_EQ(events.size(), 1U);
        EXPECT_EQ(events[0].start.ns, 200);
        EXPECT_EQ(events[0].end.ns, 700);
        EXPECT_EQ(events[0].issue.ns, 10);
        EXPECT_EQ(text(events[0].algorithm), "NVLS");
        EXPECT_EQ(text(events[0].protocol), "SIMPLE");
        EXPECT_EQ(events[0].dtype, DataType::kBFloat16);
        EXPECT_EQ(events[0].size.count, 2000);
        EXPECT_EQ(events[0].cause, Cause::kGradient);
        EXPECT_EQ(events[0].layer.value, 3);
        EXPECT_EQ(events[0].step.value, 11);
        EXPECT_TRUE(take(5).empty());
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(m_join.counts().joined, 6U);
    EXPECT_EQ(m_texts.size(), 2U) << "each literal is numbered once";
}

TEST_F(NcclJoinTest, FallsBackToEventTimesAfterABoundedWait) {
    m_join.report(asked(1), true, {0});
    m_join.record(task(1, 7), {0});
    EXPECT_TRUE(take(kWait - 1).empty());
    const auto events = take(kWait);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].start.ns, 100);
    EXPECT_EQ(events[0].end.ns, 900);
    EXPECT_EQ(text(events[0].algorithm), "NVLS") << "what is known is kept";
    EXPECT_EQ(m_join.counts().unjoined, 1U);
    EXPECT_EQ(m_join.counts().joined, 0U);
    // Its kernel comes too late: nothing is told twice.
    m_join.kernel({7, {200}, {700}, {}}, {kWait});
    EXPECT_TRUE(take(5 * kWait).empty());
    EXPECT_EQ(m_join.counts().orphanKernels, 1U);
}

TEST_F(NcclJoinTest, WithoutPluginEventsNothingIsWaitedForWhenNothingIsExpected) {
    m_join.report(asked(1), false, {0});  // one rank
    EXPECT_EQ(take(0).size(), 1U);
    m_join.report(asked(2), true, {0});  // symmetric memory: NCCL tells of the call alone
    NcclRecord call = task(2, 0);
    call.kind = NcclRecordKind::kApi;
    m_join.record(call, {0});
    EXPECT_TRUE(take(0).empty());
    EXPECT_EQ(take(kWait).size(), 1U);
    NcclRecord captured = task(3, 9);  // a launch into a graph runs no kernel
    captured.graphCaptured = true;
    m_join.record(captured, {0});
    m_join.report(asked(3), true, {0});
    EXPECT_EQ(take(0).size(), 1U);
    EXPECT_EQ(m_join.counts().withoutEvents, 3U);
    EXPECT_EQ(m_join.counts().unjoined, 0U);
}

TEST_F(NcclJoinTest, SeveralCollectivesInOneKernelAllGetItsTimes) {
    for (const std::uint64_t sequence : {1U, 2U, 3U}) {
        m_join.report(asked(sequence), true, {0});
        m_join.record(task(sequence, 7), {0});
    }
    m_join.kernel({7, {200}, {700}, {}}, {0});
    const auto events = take(0);
    ASSERT_EQ(events.size(), 3U);
    for (const auto& event : events) EXPECT_EQ(event.end.ns, 700);
    EXPECT_EQ(m_join.counts().joined, 3U);
    EXPECT_EQ(m_join.counts().shared, 2U);
}

TEST_F(NcclJoinTest, ACollectiveOfSeveralLaunchesLastsFromTheFirstToTheLast) {
    m_join.report(asked(1), true, {0});
    m_join.record(task(1, 7), {0});
    m_join.record(task(1, 8), {0});
    m_join.kernel({7, {200}, {300}, {}}, {0});
    EXPECT_TRUE(take(0).empty());
    m_join.kernel({8, {350}, {700}, {}}, {0});
    const auto events = take(0);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].start.ns, 200);
    EXPECT_EQ(events[0].end.ns, 700);
    EXPECT_EQ(events[0].size.count, 4000);
    EXPECT_EQ(m_join.counts().sizeDiffers, 1U);
}

TEST_F(NcclJoinTest, TasksBeatTheLaunchMadeUnderTheirNeighboursName) {
    m_join.record(launched(7, 2), {0});  // annotated with 2, though 1 went into it
    m_join.record(task(1, 7), {0});
    m_join.record(task(2, 8), {0});
    m_join.report(asked(2), true, {0});
    m_join.kernel({7, {200}, {300}, {}}, {0});
    EXPECT_TRUE(take(0).empty());
    m_join.kernel({8, {400}, {500}, {}}, {0});
    const auto events = take(0);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].start.ns, 400);
}

TEST_F(NcclJoinTest, ALaunchAloneStillGivesKernelTimes) {
    m_join.report(asked(1), true, {0});
    m_join.record(launched(7, 1), {0});
    m_join.kernel({7, {200}, {300}, {}}, {0});
    const auto events = take(0);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].end.ns, 300);
    EXPECT_EQ(events[0].algorithm, kEmptyString);
}

TEST_F(NcclJoinTest, GroupsHaveNumbersOfTheirOwn) {
    NcclRecord second = task(1, 8);
    second.own.group = 2;
    m_join.report(asked(1), true, {0});
    m_join.report(asked(1, 2), true, {0});
    m_join.record(task(1, 7), {0});
    m_join.record(second, {0});
    m_join.kernel({7, {200}, {300}, {}}, {0});
    m_join.kernel({8, {400}, {500}, {}}, {0});
    const auto events = take(0);
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].end.ns, 300);
    EXPECT_EQ(events[1].end.ns, 500);
}

TEST_F(NcclJoinTest, CountsWhatTheEngineDoesNotKnowAndForgetsIt) {
    m_join.record(task(0, 7), {0});
    m_join.record(task(5, 8), {0});
    m_join.kernel({7, {200}, {300}, {}}, {0});
    EXPECT_TRUE(take(kWait).empty());
    EXPECT_EQ(m_join.counts().unannotated, 1U);
    EXPECT_EQ(m_join.counts().unreported, 1U);
}

TEST_F(NcclJoinTest, EverythingComesOutAtTheEnd) {
    m_join.report(asked(1), true, {0});
    m_join.report(asked(2), true, {0});
    m_join.record(task(2, 7), {0});
    m_join.kernel({7, {200}, {300}, {}}, {0});
    EXPECT_EQ(take(0, true).size(), 2U);
    EXPECT_EQ(m_join.counts().joined, 1U);
    EXPECT_EQ(m_join.counts().withoutEvents, 1U);
}

std::vector<std::uint64_t> g_launches;  // ids the tracer saw, in order

// From the plugin's callbacks to the event, as in a worker.
TEST_F(NcclJoinTest, FromCallbacksToEvents) {
    g_launches.clear();
    static constexpr capture::DeviceAnnotator kAnnotator{
        [](capture::AnnotationStack, std::uint64_t id) { g_launches.push_back(id); },
        [](capture::AnnotationStack) {}};
    NcclProfiler profiler;
    NcclProfiler::install(&profiler);
    capture::deviceAnnotator() = &kAnnotator;
    test::FakeNccl nccl;
    auto world = nccl.initialise(1, "dp0", 4);
    nccl.groupStart();
    for (const std::uint64_t sequence : {1U, 2U}) {
        const capture::CollectiveScope scope({0, sequence});
        nccl.collective(world, "AllGather", 250, "ncclBfloat16");
        m_join.report(asked(sequence), true, {0});
    }
    nccl.groupEnd();
    NcclProfiler::install(nullptr);
    capture::deviceAnnotator() = nullptr;
    std::vector<NcclRecord> records;
    profiler.drain(records);
    for (const NcclRecord& record : records) m_join.record(record, {0});
    ASSERT_EQ(g_launches.size(), 1U);
    m_join.kernel({g_launches[0], {200}, {300}, {}}, {0});
    const auto events = take(0);
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[1].end.ns, 300);
    EXPECT_EQ(events[1].size.count, 2000);
    EXPECT_EQ(events[1].dtype, DataType::kBFloat16);
    EXPECT_EQ(text(events[1].algorithm), "RING");
    EXPECT_EQ(m_join.counts().sizeDiffers, 0U);
    EXPECT_EQ(m_join.counts().shared, 1U);
}

}  // namespace
}  // namespace shardscope::collectors
