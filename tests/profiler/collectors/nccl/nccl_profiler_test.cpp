#include "profiler/collectors/nccl/nccl_profiler.h"

#include "tests/profiler/collectors/nccl/fake_nccl.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <set>

namespace shardscope::collectors {
namespace {

using test::FakeNccl;
using testing::ElementsAre;

// The device tracer's stacks, one a thread, as far as a test can see them.
std::atomic<int> g_pushes{0};
std::atomic<int> g_pops{0};
std::atomic<int> g_unbalanced{0};
thread_local std::vector<std::uint64_t> t_stack;

const capture::DeviceAnnotator kAnnotator{[](capture::AnnotationStack stack, std::uint64_t id) {
                                              EXPECT_EQ(stack,
                                                        capture::AnnotationStack::kNcclLaunch);
                                              t_stack.push_back(id);
                                              ++g_pushes;
                                          },
                                          [](capture::AnnotationStack) {
                                              ++g_pops;
                                              if (t_stack.empty())
                                                  ++g_unbalanced;
                                              else
                                                  t_stack.pop_back();
                                          }};

class NcclProfilerTest : public testing::Test {
protected:
    NcclProfilerTest() {
        NcclProfiler::install(&m_profiler);
        capture::deviceAnnotator() = &kAnnotator;
        g_pushes = g_pops = g_unbalanced = 0;
    }
    ~NcclProfilerTest() override {
        NcclProfiler::install(nullptr);
        capture::deviceAnnotator() = nullptr;
        EXPECT_EQ(g_pushes, g_pops);
        EXPECT_EQ(g_unbalanced, 0);
        EXPECT_TRUE(t_stack.empty());
    }
    std::vector<NcclRecord> drain() {
        std::vector<NcclRecord> records;
        m_profiler.drain(records);
        return records;
    }
    static std::vector<NcclRecord> of(const std::vector<NcclRecord>& records, NcclRecordKind kind) {
        std::vector<NcclRecord> found;
        for (const NcclRecord& record : records)
            if (record.kind == kind) found.push_back(record);
        return found;
    }
    /// Issues one as the engine's communicator does.
    void issue(FakeNccl::Communicator& on, const char* func, std::size_t count,
               std::uint64_t sequence, std::uint32_t group = 0) {
        const capture::CollectiveScope scope({group, sequence});
        m_nccl.collective(on, func, count, "ncclBfloat16");
    }

    NcclProfiler m_profiler{{.rings = 4, .ringCapacity = 1 << 12, .handles = 1 << 8}};
    FakeNccl m_nccl;
};

// What STATIC_PLUGIN does: this test is linked as the worker is.
TEST(NcclPlugin, IsFoundInTheExecutableItself) {
    void* self = dlopen(nullptr, RTLD_NOW);
    ASSERT_NE(self, nullptr);
    EXPECT_EQ(dlsym(self, "ncclProfiler_v5"), static_cast<void*>(&ncclProfiler_v5));
    dlclose(self);
}

TEST_F(NcclProfilerTest, TellsCallLaunchAndTaskOfACollective) {
    auto world = m_nccl.initialise(0xabc, "dp0", 4);
    issue(world, "AllReduce", 1000, 7);
    const auto records = drain();
    const auto calls = of(records, NcclRecordKind::kApi);
    const auto launches = of(records, NcclRecordKind::kLaunch);
    const auto tasks = of(records, NcclRecordKind::kCollective);
    ASSERT_EQ(calls.size(), 1U);
    ASSERT_EQ(launches.size(), 1U);
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_STREQ(calls[0].function, "AllReduce");
    EXPECT_EQ(calls[0].callCount, 1000U);
    EXPECT_LE(calls[0].startNs, calls[0].endNs);
    EXPECT_NE(launches[0].launch, 0U);
    EXPECT_EQ(tasks[0].launch, launches[0].launch);
    EXPECT_EQ(tasks[0].own, (capture::CollectiveAnnotation{0, 7}));
    EXPECT_EQ(tasks[0].communicator, 0xabcU);
    EXPECT_EQ(tasks[0].ranks, 4);
    EXPECT_STREQ(tasks[0].algorithm, "RING");
    EXPECT_STREQ(tasks[0].protocol, "LL128");
    EXPECT_STREQ(tasks[0].dataType, "ncclBfloat16");
    EXPECT_EQ(tasks[0].sequence, 0U);
    EXPECT_EQ(g_pushes, 1);
    FakeNccl::finalise(world);
}

TEST_F(NcclProfilerTest, KeepsTheCallersCountOfAnAllGatherBesideNcclsBytes) {
    auto world = m_nccl.initialise(1, "dp0", 4);
    issue(world, "AllGather", 500, 1);
    const auto tasks = of(drain(), NcclRecordKind::kCollective);
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_EQ(tasks[0].count, 1000U);
    EXPECT_STREQ(tasks[0].dataType, "ncclInt8");
    EXPECT_EQ(tasks[0].callCount, 500U);
    EXPECT_STREQ(tasks[0].callDataType, "ncclBfloat16");
}

TEST_F(NcclProfilerTest, CollectivesOfANestedGroupShareOneLaunchAndKeepTheirNumbers) {
    auto world = m_nccl.initialise(1, "dp0", 4);
    m_nccl.groupStart();
    m_nccl.groupStart();
    issue(world, "AllReduce", 10, 5);
    issue(world, "ReduceScatter", 10, 6);
    m_nccl.groupEnd();
    EXPECT_EQ(of(drain(), NcclRecordKind::kLaunch).size(), 0U);
    m_nccl.groupEnd();
    const auto records = drain();
    const auto tasks = of(records, NcclRecordKind::kCollective);
    ASSERT_EQ(of(records, NcclRecordKind::kLaunch).size(), 1U);
    ASSERT_EQ(tasks.size(), 2U);
    EXPECT_EQ(tasks[0].launch, tasks[1].launch);
    EXPECT_EQ(tasks[0].own.sequence, 5U);
    EXPECT_EQ(tasks[1].own.sequence, 6U);
}

TEST_F(NcclProfilerTest, CommunicatorsOfOneGroupLaunchEachForThemselves) {
    auto data = m_nccl.initialise(1, "dp0", 4);
    auto tensor = m_nccl.initialise(2, "tp1", 2);
    m_nccl.groupStart();
    issue(data, "AllReduce", 10, 1, 1);
    issue(tensor, "AllReduce", 10, 1, 2);
    m_nccl.groupEnd();
    const auto tasks = of(drain(), NcclRecordKind::kCollective);
    ASSERT_EQ(tasks.size(), 2U);
    EXPECT_NE(tasks[0].launch, tasks[1].launch);
    EXPECT_EQ(tasks[0].own.group, 1U);
    EXPECT_EQ(tasks[1].own.group, 2U);
    EXPECT_EQ(tasks[0].communicator, 1U);
    EXPECT_EQ(tasks[1].communicator, 2U);
    const auto known = m_profiler.communicators();
    ASSERT_EQ(known.size(), 2U);
    EXPECT_EQ(known[1].name, "tp1");
    EXPECT_EQ(known[1].ranks, 2);
}

TEST_F(NcclProfilerTest, NcclsNumbersCountByFunctionAndCommunicator) {
    auto first = m_nccl.initialise(1, "dp0", 4);
    auto second = m_nccl.initialise(2, "tp0", 4);
    issue(first, "AllReduce", 1, 1);
    issue(first, "AllGather", 1, 2);
    issue(first, "AllReduce", 1, 3);
    issue(second, "AllReduce", 1, 4);
    std::vector<std::uint64_t> sequences;
    for (const auto& task : of(drain(), NcclRecordKind::kCollective))
        sequences.push_back(task.sequence);
    EXPECT_THAT(sequences, ElementsAre(0, 0, 1, 0));
}

TEST_F(NcclProfilerTest, PointToPointIsNumberedByPeerAndDirection) {
    auto world = m_nccl.initialise(1, "pp0", 4);
    m_nccl.pointToPoint(world, "Send", 8, "ncclFloat32", 1);
    m_nccl.pointToPoint(world, "Recv", 8, "ncclFloat32", 1);
    m_nccl.pointToPoint(world, "Send", 8, "ncclFloat32", 1);
    m_nccl.pointToPoint(world, "Send", 8, "ncclFloat32", 2);
    const auto records = drain();
    std::vector<std::uint64_t> sequences;
    for (const auto& task : of(records, NcclRecordKind::kPointToPoint)) {
        sequences.push_back(task.sequence);
        EXPECT_NE(task.launch, 0U);
    }
    EXPECT_THAT(sequences, ElementsAre(1, 1, 2, 1));
    EXPECT_EQ(of(records, NcclRecordKind::kApi).size(), 4U);
}

TEST_F(NcclProfilerTest, OneRankMakesNoEvents) {
    auto alone = m_nccl.initialise(1, "alone", 1);
    issue(alone, "AllReduce", 10, 1);
    FakeNccl::finalise(alone);
    EXPECT_TRUE(drain().empty());
}

TEST_F(NcclProfilerTest, RecordingIsSwitchedForAllCommunicatorsThroughTheSharedMask) {
    auto first = m_nccl.initialise(1, "dp0", 4);
    const int on = m_nccl.mask();
    EXPECT_EQ(on, static_cast<int>(nccl::kCollApi | nccl::kP2pApi | nccl::kKernelLaunch |
                                   nccl::kColl | nccl::kP2p));
    m_profiler.setRecording(false);
    EXPECT_EQ(m_nccl.mask(), 0);
    auto second = m_nccl.initialise(2, "tp0", 4);
    EXPECT_EQ(m_nccl.mask(), 0) << "a later communicator switched recording on again";
    issue(first, "AllReduce", 10, 1);
    issue(second, "AllReduce", 10, 1);
    EXPECT_TRUE(drain().empty());
    m_profiler.setRecording(true);
    EXPECT_EQ(m_nccl.mask(), on);
    issue(second, "AllReduce", 10, 2);
    EXPECT_EQ(of(drain(), NcclRecordKind::kCollective).size(), 1U);
}

// With the mask off NCCL stops the previous call's handle once more.
TEST_F(NcclProfilerTest, StaleSecondStopsAreCountedAndHarmless) {
    auto world = m_nccl.initialise(1, "dp0", 4);
    issue(world, "AllReduce", 10, 1);
    m_profiler.setRecording(false);
    issue(world, "AllReduce", 10, 2);
    issue(world, "AllReduce", 10, 3);
    EXPECT_EQ(of(drain(), NcclRecordKind::kApi).size(), 1U);
    EXPECT_EQ(m_profiler.counts().staleStops, 2U);
    // And still once its slot belongs to somebody else.
    void* stale = nullptr;
    auto descriptor = FakeNccl::describe(nccl::kCollApi, nullptr);
    descriptor.collApi = {"AllReduce", 1, "ncclInt8", 0, nullptr, false};
    FakeNccl::start(world.context, &stale, descriptor);
    void* other = nullptr;
    for (int i = 0; i < 1000; ++i) {
        FakeNccl::start(world.context, &other, descriptor);
        FakeNccl::stop(other);
    }
    EXPECT_EQ(drain().size(), 1000U);
    FakeNccl::stop(stale);
    EXPECT_TRUE(drain().empty());
}

TEST_F(NcclProfilerTest, MaskToggledWithinALaunchLeavesTheStackBalanced) {
    auto world = m_nccl.initialise(1, "dp0", 4);
    void* launch = nullptr;
    auto descriptor = FakeNccl::describe(nccl::kKernelLaunch, nullptr);
    FakeNccl::start(world.context, &launch, descriptor);
    EXPECT_EQ(t_stack.size(), 1U);
    m_profiler.setRecording(false);
    capture::deviceAnnotator() = nullptr;  // even with the tracer gone
    FakeNccl::stop(launch);
    EXPECT_TRUE(t_stack.empty());
    FakeNccl::stop(launch);
    EXPECT_EQ(g_pops, 1);
    // And the other way round: what was not pushed is not popped.
    FakeNccl::start(world.context, &launch, descriptor);
    capture::deviceAnnotator() = &kAnnotator;
    FakeNccl::stop(launch);
    EXPECT_EQ(g_pops, 1);
}

TEST_F(NcclProfilerTest, ALostStopIsMadeUpForAtTheNextLaunch) {
    auto world = m_nccl.initialise(1, "dp0", 4);
    void* lost = nullptr;
    void* next = nullptr;
    auto descriptor = FakeNccl::describe(nccl::kKernelLaunch, nullptr);
    FakeNccl::start(world.context, &lost, descriptor);
    FakeNccl::start(world.context, &next, descriptor);
    EXPECT_EQ(t_stack.size(), 1U);
    std::thread([&] { FakeNccl::stop(lost); }).join();
    EXPECT_EQ(m_profiler.counts().foreignThreadStops, 1U);
    FakeNccl::stop(next);
}

TEST_F(NcclProfilerTest, FinaliseTellsWhatNeverReturnedAndLateStopsAreHarmless) {
    auto world = m_nccl.initialise(1, "dp0", 4);
    auto other = m_nccl.initialise(2, "tp0", 4);
    void* call = nullptr;
    void* kept = nullptr;
    auto descriptor = FakeNccl::describe(nccl::kCollApi, nullptr);
    descriptor.collApi = {"AllReduce", 1, "ncclInt8", 0, nullptr, false};
    FakeNccl::start(world.context, &call, descriptor);
    FakeNccl::start(other.context, &kept, descriptor);
    FakeNccl::finalise(world);
    FakeNccl::finalise(world);  // twice does no harm
    auto records = drain();
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].endNs, 0);
    EXPECT_EQ(records[0].communicator, 1U);
    FakeNccl::stop(call);
    EXPECT_TRUE(drain().empty());
    FakeNccl::stop(kept);
    EXPECT_EQ(drain().size(), 1U);
}

TEST_F(NcclProfilerTest, MaskIsGivenAnewWhenNcclComesBack) {
    auto world = m_nccl.initialise(1, "dp0", 4);
    FakeNccl::finalise(world);
    FakeNccl reloaded;
    auto again = reloaded.initialise(2, "dp0", 4);
    EXPECT_NE(reloaded.mask(), 0);
    m_profiler.setRecording(false);
    EXPECT_EQ(reloaded.mask(), 0);
    EXPECT_NE(m_nccl.mask(), 0) << "wrote to a mask that may be gone";
    FakeNccl::finalise(again);
}

TEST_F(NcclProfilerTest, ToleratesNullContextNullParentAndNullPointers) {
    auto descriptor = FakeNccl::describe(nccl::kColl, nullptr);
    descriptor.coll = {1,          "AllReduce", nullptr, nullptr, 4,    0,
                       "ncclInt8", 1,           1,       "RING",  "LL", nullptr};
    void* handle = nullptr;
    FakeNccl::start(nullptr, &handle, descriptor);
    FakeNccl::stop(handle);
    FakeNccl::stop(nullptr);
    EXPECT_EQ(ncclProfiler_v5.startEvent(nullptr, nullptr, &descriptor), 0);
    EXPECT_EQ(ncclProfiler_v5.recordEventState(nullptr, 22, nullptr), 0);
    EXPECT_EQ(ncclProfiler_v5.finalize(nullptr), 0);
    const auto records = drain();
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].communicator, 0U);
    EXPECT_EQ(records[0].own.sequence, 0U);
    EXPECT_EQ(m_profiler.counts().withoutContext, 1U);
}

TEST_F(NcclProfilerTest, NothingIsRecordedWithoutAProfilerButHandlesAreWritten) {
    NcclProfiler::install(nullptr);
    auto world = m_nccl.initialise(1, "dp0", 4);
    EXPECT_EQ(world.context, nullptr);
    EXPECT_EQ(m_nccl.mask(), 0);
    void* handle = nullptr;
    auto descriptor = FakeNccl::describe(nccl::kKernelLaunch, nullptr);
    FakeNccl::start(world.context, &handle, descriptor);
    EXPECT_EQ(handle, nullptr);
    FakeNccl::finalise(world);
}

TEST_F(NcclProfilerTest, ForeignProxyOperationsAreIgnoredWithoutLookingAtTheirParent) {
    auto world = m_nccl.initialise(1, "dp0", 4);
    auto descriptor =
        FakeNccl::describe(nccl::kProxyOp, reinterpret_cast<void*>(std::uintptr_t{0xdead0}));
    descriptor.proxyOp = {static_cast<int>(getpid()) + 1, 0, 1, 1, 1, 1};
    void* handle = nullptr;
    FakeNccl::start(world.context, &handle, descriptor);
    EXPECT_EQ(handle, nullptr);
    descriptor.proxyOp.pid = static_cast<int>(getpid());
    FakeNccl::start(world.context, &handle, descriptor);
    EXPECT_EQ(handle, nullptr);
    EXPECT_EQ(m_profiler.counts().ignored, 2U);
    EXPECT_EQ(m_profiler.counts().foreign, 1U);
}

// Once a CUDA graph exists NCCL may run the tasks of an eager plan in a host callback.
TEST_F(NcclProfilerTest, TasksOfAnotherThreadFindTheirLaunchAndCallThroughTheGroup) {
    auto world = m_nccl.initialise(1, "dp0", 4);
    {
        const capture::CollectiveScope scope({3, 9});
        m_nccl.collective(world, "AllReduce", 10, "ncclBfloat16", false,
                          FakeNccl::TasksOn::kOtherThread);
    }
    const auto records = drain();
    const auto launches = of(records, NcclRecordKind::kLaunch);
    const auto tasks = of(records, NcclRecordKind::kCollective);
    ASSERT_EQ(launches.size(), 1U);
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_EQ(tasks[0].launch, launches[0].launch);
    EXPECT_EQ(tasks[0].own, (capture::CollectiveAnnotation{3, 9}));
}

TEST_F(NcclProfilerTest, SaysWhatWasCapturedIntoAGraph) {
    auto world = m_nccl.initialise(1, "dp0", 4);
    m_nccl.collective(world, "AllReduce", 10, "ncclBfloat16", true,
                      FakeNccl::TasksOn::kOtherThread);
    const auto tasks = of(drain(), NcclRecordKind::kCollective);
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_TRUE(tasks[0].graphCaptured);
}

TEST_F(NcclProfilerTest, AFullRingDropsAndCounts) {
    auto world = m_nccl.initialise(1, "dp0", 4);
    for (int i = 0; i < 3000; ++i) issue(world, "AllReduce", 1, 1);
    const std::uint64_t seen = drain().size();
    EXPECT_EQ(seen, 1U << 12);
    EXPECT_EQ(m_profiler.counts().dropped, 9000 - seen);
    EXPECT_EQ(m_profiler.counts().records, seen);
}

TEST_F(NcclProfilerTest, ManyThreadsWithCommunicatorsOfTheirOwn) {
    constexpr int kThreads = 6, kEach = 300;
    NcclProfiler roomy(
        {.rings = 4, .handles = 1 << 14});  // no handle's slot is reused: every launch is known
    NcclProfiler::install(&roomy);
    std::atomic<bool> done{false};
    std::vector<NcclRecord> records;
    std::thread drainer([&] {
        while (!done.load()) roomy.drain(records);
    });
    std::thread toggler([&] {
        for (int i = 0; i < 200; ++i) roomy.setRecording(i % 2 == 1);
    });
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            auto own = m_nccl.initialise(100 + static_cast<std::uint64_t>(t), "own", 4);
            for (int i = 1; i <= kEach; ++i) {
                issue(own, "AllReduce", 16, static_cast<std::uint64_t>(i),
                      static_cast<std::uint32_t>(t));
            }
            FakeNccl::finalise(own);
            EXPECT_TRUE(t_stack.empty());
        });
    }
    for (auto& thread : threads) thread.join();
    toggler.join();
    done = true;
    drainer.join();
    roomy.drain(records);
    for (const NcclRecord& task : of(records, NcclRecordKind::kCollective)) {
        EXPECT_EQ(task.communicator, 100U + task.own.group);
        EXPECT_GE(task.own.sequence, 1U);
        EXPECT_LE(task.own.sequence, std::uint64_t{kEach});
        EXPECT_NE(task.launch, 0U);
    }
    std::set<std::uint64_t> launches;
    for (const NcclRecord& launch : of(records, NcclRecordKind::kLaunch))
        EXPECT_TRUE(launches.insert(launch.launch).second) << "a launch id was given twice";
    EXPECT_EQ(roomy.counts().dropped, 0U);
}

TEST(NcclProfilerChannels, DeviceTimesComeWithTheTaskEvenLongAfterItsStop) {
    NcclProfiler profiler({.channels = true});
    NcclProfiler::install(&profiler);
    FakeNccl nccl;
    auto world = nccl.initialise(1, "dp0", 4);
    EXPECT_NE(nccl.mask() & static_cast<int>(nccl::kKernelCh), 0);
    {
        const capture::CollectiveScope scope({0, 3});
        nccl.collective(world, "AllReduce", 16, "ncclBfloat16");
    }
    std::thread([&] {  // the proxy thread
        auto descriptor = FakeNccl::describe(nccl::kKernelCh, nccl.lastTask);
        descriptor.kernelCh = {5, 1'000'032};
        void* channel = nullptr;
        FakeNccl::start(world.context, &channel, descriptor);
        nccl::EventStateArgs args{};
        args.kernelCh.pTimer = 1'000'064;
        EXPECT_EQ(ncclProfiler_v5.recordEventState(channel, 22, &args), 0);
        FakeNccl::stop(channel);
    })
        .join();
    NcclProfiler::install(nullptr);
    std::vector<NcclRecord> records;
    profiler.drain(records);
    const auto channel = std::find_if(records.begin(), records.end(), [](const auto& record) {
        return record.kind == NcclRecordKind::kChannel;
    });
    ASSERT_NE(channel, records.end());
    EXPECT_EQ(channel->own.sequence, 3U);
    EXPECT_EQ(channel->channels, 5);
    EXPECT_EQ(channel->startNs, 1'000'032);
    EXPECT_EQ(channel->endNs, 1'000'064);
    EXPECT_NE(channel->launch, 0U);
}

}  // namespace
}  // namespace shardscope::collectors
