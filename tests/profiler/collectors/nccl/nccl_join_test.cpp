#include "profiler/collectors/nccl/nccl_join.h"

#include "profiler/collectors/nccl/nccl_profiler.h"
#include "tests/profiler/collectors/nccl/fake_nccl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

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
    std::vector<CollectiveEvent> take(bool everything = false) {
        std::vector<CollectiveEvent> events;
        m_join.take(events, everything);
        return events;
    }
    /// Kernels of launches from `first` to `last`, each in a delivery of its own; what comes out.
    std::vector<CollectiveEvent> deliver(std::uint64_t first, std::uint64_t last) {
        std::vector<CollectiveEvent> events;
        for (std::uint64_t launch = first; launch <= last; ++launch) {
            m_join.kernel({launch, {200}, {700}, {}});
            m_join.take(events, false);
        }
        return events;
    }
    [[nodiscard]] std::string text(StringId id) const {
        return id == kEmptyString ? "" : m_texts.at(id.value - 1);
    }

    std::vector<std::string> m_texts;
    NcclJoin m_join;
};

/// Deliveries after which nothing is waited for any more, and a few.
constexpr std::uint64_t kMany = 20;

TEST_F(NcclJoinTest, OneEventInWhateverOrderTheThreeArrive) {
    std::array<int, 3> order{0, 1, 2};
    std::uint64_t sequence = 0;
    do {
        ++sequence;
        for (const int which : order) {
            EXPECT_TRUE(take().empty());
            if (which == 0) m_join.report(asked(sequence), true);
            if (which == 1) m_join.record(task(sequence, 70 + sequence));
            if (which == 2) m_join.kernel({70 + sequence, {200}, {700}, {}});
        }
        const auto events = take();
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
        EXPECT_TRUE(take().empty());
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(m_join.counts().joined, 6U);
    EXPECT_EQ(m_texts.size(), 2U) << "each literal is numbered once";
}

TEST_F(NcclJoinTest, AKernelMayComeAsLateAsItLikes) {
    m_join.report(asked(1), true);
    m_join.record(task(1, 7));
    // A buffer that something still runs in: nothing of the stream comes, for minutes.
    for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(take().empty());
    // Nor is one that was launched before it a sign.
    ASSERT_TRUE(deliver(1, 6).empty());
    m_join.kernel({7, {200}, {700}, {}});
    const auto events = take();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].start.ns, 200);
    EXPECT_EQ(m_join.counts().joined, 1U);
}

TEST_F(NcclJoinTest, ABufferMayOvertakeAnother) {
    m_join.report(asked(1), true);
    m_join.record(task(1, 7));
    EXPECT_TRUE(deliver(8, 10).empty());
    m_join.kernel({7, {200}, {700}, {}});
    ASSERT_EQ(take().size(), 1U);
    EXPECT_EQ(m_join.counts().joined, 1U);
}

TEST_F(NcclJoinTest, FallsBackToEventTimesOnceLaterKernelsHaveCome) {
    m_join.report(asked(1), true);
    m_join.record(task(1, 7));
    const auto events = deliver(8, 8 + kMany);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].start.ns, 100);
    EXPECT_EQ(events[0].end.ns, 900);
    EXPECT_EQ(text(events[0].algorithm), "NVLS") << "what is known is kept";
    EXPECT_EQ(m_join.counts().unjoined, 1U);
    EXPECT_EQ(m_join.counts().joined, 0U);
    // Its kernel comes too late: nothing is told twice.
    const std::uint64_t orphans = m_join.counts().orphanKernels;
    m_join.kernel({7, {200}, {700}, {}});
    EXPECT_TRUE(take(true).empty());
    EXPECT_GT(m_join.counts().orphanKernels, orphans);
}

TEST_F(NcclJoinTest, WithoutPluginEventsNothingIsWaitedForWhenNothingIsExpected) {
    m_join.report(asked(1), false);  // one rank
    EXPECT_EQ(take().size(), 1U);
    m_join.report(asked(2), true);  // symmetric memory: NCCL tells of the call alone
    NcclRecord call = task(2, 0);
    call.kind = NcclRecordKind::kApi;
    m_join.record(call);
    EXPECT_TRUE(take().empty());
    std::size_t came = 0;
    for (std::uint64_t i = 0; i < kMany && came == 0; ++i) {
        m_join.record(call);  // NCCL goes on telling
        came += take().size();
    }
    EXPECT_EQ(came, 1U);
    EXPECT_EQ(m_join.counts().withoutEvents, 2U);
    EXPECT_EQ(m_join.counts().unjoined, 0U);
}

/// Collectives of a graph: NCCL tells of them under number 77, at the capture.
class NcclReplayTest : public NcclJoinTest {
protected:
    static constexpr std::uint64_t kNumber = 77, kLaunch = 9;

    void capture() {
        for (NcclRecord record : {launched(kLaunch, kNumber), task(kNumber, kLaunch)}) {
            record.own.captured = true;
            record.graphCaptured = record.kind != NcclRecordKind::kLaunch;
            m_join.record(record);
        }
    }
    /// By the events of the graph.
    static CollectiveEvent replay(std::uint64_t sequence, std::int64_t startNs,
                                  std::int64_t endNs) {
        CollectiveEvent event = asked(sequence);
        event.start = {startNs};
        event.end = {endNs};
        return event;
    }
    void kernel(std::int64_t startNs, std::int64_t endNs, std::uint64_t launch = kLaunch) {
        m_join.kernel({launch, {startNs}, {endNs}, {}, true});
    }
};

TEST_F(NcclReplayTest, EachReplayGetsItsKernelAndWhatNcclSaidAtTheCapture) {
    constexpr std::int64_t kMs = 1'000'000;
    capture();
    EXPECT_TRUE(take().empty());
    m_join.report(replay(1, 10 * kMs, 12 * kMs), true, kNumber);
    m_join.report(replay(2, 20 * kMs, 22 * kMs), true, kNumber);
    EXPECT_TRUE(take().empty()) << "their kernels may come";
    kernel(20 * kMs + 5'000, 22 * kMs - 4'000);
    kernel(10 * kMs + 5'000, 12 * kMs - 4'000);
    auto events = take();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].start.ns, 10 * kMs + 5'000);
    EXPECT_EQ(events[1].start.ns, 20 * kMs + 5'000);
    EXPECT_EQ(events[1].end.ns, 22 * kMs - 4'000);
    for (const CollectiveEvent& event : events) EXPECT_EQ(text(event.algorithm), "NVLS");
    EXPECT_EQ(m_join.counts().joined, 2U);
    // NCCL may tell of the task again from a host callback.
    capture();
    m_join.report(replay(3, 30 * kMs, 32 * kMs), true, kNumber);
    kernel(30 * kMs, 31 * kMs);
    events = take();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].size.count, 2000);
    EXPECT_TRUE(take(true).empty());
    EXPECT_EQ(m_join.counts().sizeDiffers, 0U);
    EXPECT_EQ(m_join.counts().orphanKernels, 0U);
    EXPECT_EQ(m_join.counts().unreported, 0U);
}

TEST_F(NcclReplayTest, TakesNoKernelOfAnotherReplay) {
    constexpr std::int64_t kMs = 1'000'000;
    capture();
    m_join.report(replay(1, 10 * kMs, 12 * kMs), true, kNumber);
    std::vector<CollectiveEvent> events;
    for (std::int64_t i = 2; i < 20 && events.empty(); ++i) {
        kernel(i * 10 * kMs, i * 10 * kMs + kMs);
        events = take();
    }
    ASSERT_EQ(events.size(), 1U) << "later ones have come, its own was dropped";
    EXPECT_EQ(events[0].start.ns, 10 * kMs);
    EXPECT_EQ(text(events[0].algorithm), "NVLS");
    EXPECT_EQ(m_join.counts().withoutEvents, 1U);
    EXPECT_EQ(m_join.counts().unjoined, 0U) << "no failure";
}

TEST_F(NcclReplayTest, WaitsForNothingThatWillNotCome) {
    m_join.report(replay(1, 100, 200), true, kNumber);
    EXPECT_EQ(take().size(), 1U) << "captured while NCCL was not listened to";
    capture();
    m_join.report(replay(2, 300, 400), false, kNumber);
    EXPECT_EQ(take().size(), 1U) << "replayed while kernels are not traced";
    m_join.report(replay(3, 500, 600), true, kNumber);
    EXPECT_TRUE(take().empty());
    EXPECT_EQ(take(true).size(), 1U) << "the run has ended";
    EXPECT_EQ(m_join.counts().withoutEvents, 3U);
    EXPECT_EQ(m_join.counts().unjoined, 0U);
}

TEST_F(NcclJoinTest, OfTooManyThatWaitTheOldestComeOutAsTheyAre) {
    NcclJoin join([](std::string_view) { return kEmptyString; }, 10);
    std::vector<CollectiveEvent> events;
    for (std::uint64_t sequence = 1; sequence <= 11; ++sequence) {
        join.report(asked(sequence), true);
        join.record(task(sequence, 100 + sequence));
    }
    join.take(events, false);
    ASSERT_EQ(events.size(), 6U);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(events[i].sequence, i + 1);
    for (std::uint64_t sequence = 1; sequence <= 11; ++sequence)
        join.kernel({100 + sequence, {200}, {700}, {}});
    join.take(events, false);
    EXPECT_EQ(events.size(), 11U);
    EXPECT_EQ(join.counts().joined, 5U);
    EXPECT_EQ(join.counts().unjoined, 6U);
}

TEST_F(NcclJoinTest, ALaunchThatIsToldAnewIsWaitedForInsteadOfTheFirst) {
    m_join.record(launched(7, 1));
    m_join.record(launched(8, 1));
    m_join.report(asked(1), true);
    m_join.kernel({7, {100}, {150}, {}});
    EXPECT_TRUE(take().empty());
    m_join.kernel({8, {200}, {300}, {}});
    const auto events = take();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].start.ns, 200);
    EXPECT_TRUE(take(true).empty());
    EXPECT_EQ(m_join.counts().orphanKernels, 1U);
}

/// As a tracer delivers: each thread's buffers late and out of order, some kernels never.
TEST_F(NcclJoinTest, EachComesOutOnceAndOnlyWhatWasDroppedWithoutItsKernel) {
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
        std::mt19937 random(seed);
        NcclJoin join([](std::string_view) { return kEmptyString; });
        constexpr std::uint64_t kCount = 300;
        std::set<std::uint64_t> dropped;
        std::vector<std::vector<std::uint64_t>> buffers(1);
        for (std::uint64_t launch = 1; launch <= kCount; ++launch) {
            if (random() % 50 == 0) {
                dropped.insert(launch);
                continue;
            }
            buffers.back().push_back(launch);
            if (random() % 20 == 0) buffers.emplace_back();
        }
        // Neighbours change places.
        for (std::size_t i = 1; i < buffers.size(); i += 2)
            if (random() % 2 == 0) std::swap(buffers[i - 1], buffers[i]);
        std::vector<CollectiveEvent> events;
        std::uint64_t told = 0;
        for (const auto& buffer : buffers) {
            // The host is ahead of what is delivered, by a while.
            for (; told < kCount && (told < 40 + (buffer.empty() ? 0 : buffer.back())); ++told) {
                join.record(task(told + 1, told + 1));
                join.report(asked(told + 1), true);
            }
            for (const std::uint64_t launch : buffer) join.kernel({launch, {200}, {700}, {}});
            join.take(events, false);
        }
        for (; told < kCount; ++told) join.report(asked(told + 1), true);
        join.take(events, true);
        std::map<std::uint64_t, std::int64_t> starts;
        for (const auto& event : events)
            EXPECT_TRUE(starts.emplace(event.sequence, event.start.ns).second) << "twice";
        ASSERT_EQ(starts.size(), kCount);
        for (const auto& [sequence, start] : starts)
            EXPECT_EQ(start, dropped.contains(sequence) ? 100 : 200) << sequence << " of " << seed;
    }
}

TEST_F(NcclJoinTest, SeveralCollectivesInOneKernelAllGetItsTimes) {
    for (const std::uint64_t sequence : {1U, 2U, 3U}) {
        m_join.report(asked(sequence), true);
        m_join.record(task(sequence, 7));
    }
    m_join.kernel({7, {200}, {700}, {}});
    const auto events = take();
    ASSERT_EQ(events.size(), 3U);
    for (const auto& event : events) EXPECT_EQ(event.end.ns, 700);
    EXPECT_EQ(m_join.counts().joined, 3U);
    EXPECT_EQ(m_join.counts().shared, 2U);
}

TEST_F(NcclJoinTest, ACollectiveOfSeveralLaunchesLastsFromTheFirstToTheLast) {
    m_join.report(asked(1), true);
    m_join.record(task(1, 7));
    m_join.record(task(1, 8));
    m_join.kernel({7, {200}, {300}, {}});
    EXPECT_TRUE(take().empty());
    m_join.kernel({8, {350}, {700}, {}});
    const auto events = take();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].start.ns, 200);
    EXPECT_EQ(events[0].end.ns, 700);
    EXPECT_EQ(events[0].size.count, 4000);
    EXPECT_EQ(m_join.counts().sizeDiffers, 1U);
}

TEST_F(NcclJoinTest, TasksBeatTheLaunchMadeUnderTheirNeighboursName) {
    m_join.record(launched(7, 2));  // annotated with 2, though 1 went into it
    m_join.record(task(1, 7));
    m_join.record(task(2, 8));
    m_join.report(asked(2), true);
    m_join.kernel({7, {200}, {300}, {}});
    EXPECT_TRUE(take().empty());
    m_join.kernel({8, {400}, {500}, {}});
    const auto events = take();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].start.ns, 400);
}

TEST_F(NcclJoinTest, ALaunchAloneStillGivesKernelTimes) {
    m_join.report(asked(1), true);
    m_join.record(launched(7, 1));
    m_join.kernel({7, {200}, {300}, {}});
    const auto events = take();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].end.ns, 300);
    EXPECT_EQ(events[0].algorithm, kEmptyString);
}

TEST_F(NcclJoinTest, GroupsHaveNumbersOfTheirOwn) {
    NcclRecord second = task(1, 8);
    second.own.group = 2;
    m_join.report(asked(1), true);
    m_join.report(asked(1, 2), true);
    m_join.record(task(1, 7));
    m_join.record(second);
    m_join.kernel({7, {200}, {300}, {}});
    m_join.kernel({8, {400}, {500}, {}});
    const auto events = take();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].end.ns, 300);
    EXPECT_EQ(events[1].end.ns, 500);
}

TEST_F(NcclJoinTest, CountsWhatTheEngineDoesNotKnow) {
    m_join.record(task(0, 7));
    m_join.record(task(5, 8));
    m_join.kernel({7, {200}, {300}, {}});
    EXPECT_TRUE(take(true).empty());
    EXPECT_EQ(m_join.counts().unannotated, 1U);
    EXPECT_EQ(m_join.counts().unreported, 1U);
    EXPECT_EQ(m_join.counts().orphanKernels, 1U);
}

TEST_F(NcclJoinTest, EverythingComesOutAtTheEnd) {
    m_join.report(asked(1), true);
    m_join.report(asked(2), true);
    m_join.record(task(2, 7));
    m_join.kernel({7, {200}, {300}, {}});
    EXPECT_EQ(take(true).size(), 2U);
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
        m_join.report(asked(sequence), true);
    }
    nccl.groupEnd();
    NcclProfiler::install(nullptr);
    capture::deviceAnnotator() = nullptr;
    std::vector<NcclRecord> records;
    profiler.drain(records);
    for (const NcclRecord& record : records) m_join.record(record);
    ASSERT_EQ(g_launches.size(), 1U);
    m_join.kernel({g_launches[0], {200}, {300}, {}});
    const auto events = take();
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
