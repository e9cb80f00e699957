#include "engine/comm/nccl/nccl_communicator.h"

#include "engine/comm/message_numbers.h"
#include "engine/control/observer.h"
#include "storage/model/host_clock.h"
#include "tests/engine/torch/kept_failures.h"
#include "tests/engine/torch/kept_reports.h"
#include "tests/engine/torch/rank_threads.h"

#include <gmock/gmock.h>

#include <array>
#include <mutex>

namespace shardscope {
namespace {

using comm::Accumulate;
using comm::Communicator;
using comm::SymmetricBuffer;
using test::Failures;
using test::KeptReports;
using testing::HasSubstr;

thread_local std::vector<std::uint64_t> t_annotations;
void keepAnnotation(const control::CollectiveReport* whose) {
    t_annotations.push_back(whose == nullptr ? 0 : whose->sequence);
}

/// Until so many communicators are left, which others free in threads of their own.
void awaitLiveCommunicators(int count) {
    while (test::liveCommunicators() != count) std::this_thread::yield();
}

TEST(NcclCommunicator, ReportsEveryOperationInOrderWithItsTag) {
    std::array<KeptReports, 2> observers;
    test::runNcclRanks(
        2,
        [](Communicator& c) {
            const SymmetricBuffer shard = c.allocate(16, DataType::kBFloat16);
            std::vector<std::uint16_t> out(32);
            c.allGather(shard, out.data(), {Cause::kPrefetch, LayerIndex{3}, 7}).wait();
            std::array<double, 1> value{1};
            c.allReduceSmall(value, comm::Reduction::kSum, {Cause::kNorm, kNoLayer, 7}).wait();
        },
        [&](comm::NcclSetup& setup) {
            setup.observer = &observers[static_cast<std::size_t>(setup.rank)];
        });
    for (const KeptReports& observer : observers) {
        ASSERT_EQ(observer.reports.size(), 2u);
        const control::CollectiveReport& gather = observer.reports[0];
        EXPECT_EQ(gather.operation, CollectiveOp::kAllGather);
        EXPECT_EQ(gather.dtype, DataType::kBFloat16);
        EXPECT_EQ(gather.sizeBytes, 64);
        EXPECT_EQ(gather.sequence, 1u);
        EXPECT_EQ(gather.step, 7);
        EXPECT_EQ(gather.layer, LayerIndex{3});
        EXPECT_EQ(gather.cause, Cause::kPrefetch);
        EXPECT_LE(gather.issueNs, gather.startNs);
        EXPECT_LE(gather.startNs, gather.endNs);
        EXPECT_TRUE(observer.arrivals[0].empty());
        EXPECT_EQ(observer.reports[1].sequence, 2u);
        EXPECT_EQ(observer.reports[1].dtype, DataType::kFloat64);
    }
}

TEST(NcclCommunicator, ReportsGroupsAndMessagesByNumbersThatTheirRanksShare) {
    std::array<KeptReports, 3> observers;
    test::runNcclRanks(
        3,
        [](Communicator& c) {
            const std::vector<int> pair{0, 2}, alone{1};
            const auto part = c.split(c.rank() == 1 ? alone : pair, c.rank() == 1 ? 2 : 1);
            part->barrier({}).wait();
            const SymmetricBuffer buffer = c.allocate(4, DataType::kFloat32);
            if (c.rank() == 0) c.send(buffer, 2, {}).wait();
            if (c.rank() == 2) c.receive(buffer, 0, {}).wait();
            c.barrier({}).wait();
        },
        [&](comm::NcclSetup& setup) {
            setup.observer = &observers[static_cast<std::size_t>(setup.rank)];
        });
    const auto only = [&](std::size_t rank, CollectiveOp operation, std::uint32_t group) {
        control::CollectiveReport found;
        for (const auto& report : observers[rank].reports) {
            if (report.operation == operation && report.group == group) found = report;
        }
        return found.sequence;
    };
    for (const std::size_t rank : {0U, 1U, 2U}) {
        EXPECT_EQ(only(rank, CollectiveOp::kBarrier, rank == 1 ? 2 : 1), 1U);
        EXPECT_EQ(only(rank, CollectiveOp::kBarrier, 0), 1U);
    }
    EXPECT_EQ(only(0, CollectiveOp::kSend, 0), only(2, CollectiveOp::kReceive, 0));
    EXPECT_GT(only(0, CollectiveOp::kSend, 0), 1U);
}

TEST(NcclCommunicator, AnnotatesTheThreadAroundEachCall) {
    std::mutex mutex;
    std::vector<std::vector<std::uint64_t>> seen;
    test::runNcclRanks(
        2,
        [&](Communicator& c) {
            t_annotations.clear();
            c.barrier({}).wait();
            c.barrier({}).wait();
            const std::lock_guard lock(mutex);
            seen.push_back(t_annotations);
        },
        [](comm::NcclSetup& setup) { setup.annotate = &keepAnnotation; });
    EXPECT_THAT(seen, testing::Each(testing::ElementsAre(1, 0, 2, 0)));
}

TEST(NcclCommunicator, ACallThatFailsLeavesNoAnnotation) {
    static comm::NcclApi api = test::fakeNccl();
    api.allReduce = [](const void*, void*, std::size_t, DataType, bool, comm::NcclHandle, void*) {
        return 5;
    };
    comm::NcclUniqueId id;
    api.uniqueId(&id);
    test::FakeDevice device;
    control::DeviceClock clock(device);
    comm::NcclSetup setup = test::fakeSetup(device, clock, id, 0, 1);
    setup.api = &api;
    setup.annotate = &keepAnnotation;
    const auto c = comm::makeNcclCommunicator(std::move(setup));
    t_annotations.clear();
    EXPECT_THROW(c->barrier({}), comm::CommunicationError);
    EXPECT_THAT(t_annotations, testing::ElementsAre(1, 0));
}

TEST(NcclCommunicator, OperationsStartAfterWhatTheCallerQueuedBefore) {
    // The input is rewritten right after each reduction was waited for; a reduction that started
    // early or read late would see another round's values.
    test::runNcclRanks(3, [](Communicator& c) {
        const SymmetricBuffer full = c.allocate(30, DataType::kFloat32);
        auto* values = static_cast<float*>(full.local);
        std::vector<float> out(10, 0.0F);
        float expected = 0;
        for (int round = 0; round < 50; ++round) {
            std::fill_n(values, 30, static_cast<float>(round + c.rank()));
            const comm::Work work = c.reduceScatter(full, out.data(), Accumulate::kYes, {});
            c.waitPeers(work);
            expected += static_cast<float>(3 * round + 3);
            for (float value : out) ASSERT_EQ(value, expected);
        }
    });
}

TEST(NcclCommunicator, RanksThatAskForDifferentThingsAreNamed) {
    std::array<comm::CallRecord, 3> records{};
    std::array<Failures, 3> failures;
    test::runNcclRanks(
        3,
        [&](Communicator& c) {
            const std::vector<int> pair{0, 2}, alone{1};
            const auto part = c.split(c.rank() == 1 ? alone : pair, c.rank() == 1 ? 2 : 1);
            c.barrier({}).wait();
            part->barrier({}).wait();
            if (c.rank() == 1) return;
            const SymmetricBuffer shard = c.allocate(16, DataType::kBFloat16);
            std::array<std::uint16_t, 32> out{};
            comm::Work work;
            if (c.rank() == 0) {
                work = part->barrier({});
            } else {
                work = part->allGather(shard, out.data(), {});
            }
            failures[static_cast<std::size_t>(c.rank())].first();
            part->abort();
            EXPECT_THROW(work.wait(), comm::CommunicationError);
        },
        [&](comm::NcclSetup& setup) {
            for (comm::CallRecord& record : records) setup.calls.push_back(&record);
            setup.failed = [&failures, rank = setup.rank](const std::string& sentence) {
                failures[static_cast<std::size_t>(rank)].add(sentence);
            };
        });
    EXPECT_EQ(failures[0].first(),
              "collective 2 in group 1: rank 0 asks for barrier of 8 bytes of fp64, rank 2 for "
              "all-gather of 64 bytes of bf16; ranks issued different collectives");
    EXPECT_THAT(failures[2].first(), HasSubstr("rank 2 asks for all-gather of 64 bytes of bf16"));
    EXPECT_EQ(failures[1].count(), 0U);
}

TEST(NcclCommunicator, AHungOperationIsNamedAndEndsTheWait) {
    comm::NcclUniqueId id;
    test::fakeNccl().uniqueId(&id);
    test::hangAfter(id, 1);
    test::FakeDevice device;
    control::DeviceClock clock(device);
    Failures failures;
    comm::NcclSetup setup = test::fakeSetup(device, clock, id, 0, 1);
    setup.timeout = std::chrono::milliseconds(20);
    setup.failed = [&](const std::string& sentence) { failures.add(sentence); };
    const auto c = comm::makeNcclCommunicator(std::move(setup));
    const SymmetricBuffer shard = c->allocate(16, DataType::kFloat32);
    std::vector<float> out(16);
    c->allGather(shard, out.data(), {}).wait();
    const comm::Work hung = c->allGather(shard, out.data(), {Cause::kDemand, LayerIndex{5}, 12});
    EXPECT_THAT(failures.first(), HasSubstr("all-gather 2 of 64 bytes in step 12, layer 5 has been "
                                            "running on rank 0"));
    EXPECT_THROW(hung.wait(), comm::CommunicationError);
    EXPECT_THROW(c->barrier({}), comm::CommunicationError);
    c->abort();
    EXPECT_EQ(failures.count(), 1u);
}

TEST(CallRecord, KnowsThatARankHasComeThoughItIsFarAhead) {
    comm::CallRecord record{};
    EXPECT_FALSE(record.hasCome(0, 1));
    comm::MessageNumbers messages(0, 2);
    record.note(0, messages.sentTo(1), {});
    EXPECT_FALSE(record.hasCome(0, 1)) << "a message is no collective";
    for (std::uint64_t sequence = 1; sequence <= 600; ++sequence) record.note(0, sequence, {});
    EXPECT_FALSE(record.find(0, 1)) << "no longer known";
    EXPECT_TRUE(record.hasCome(0, 1));
    EXPECT_TRUE(record.hasCome(0, 600));
    EXPECT_FALSE(record.hasCome(0, 601));
    EXPECT_FALSE(record.hasCome(1, 1)) << "another group";
}

/// Two ranks that see what the other one asks for.
void runNoted(std::chrono::milliseconds timeout, std::array<Failures, 2>& failures,
              const test::RankBody& body) {
    std::array<comm::CallRecord, 2> records{};
    test::runNcclRanks(2, body, [&](comm::NcclSetup& setup) {
        for (comm::CallRecord& record : records) setup.calls.push_back(&record);
        setup.timeout = timeout;
        setup.failed = [&failures, rank = setup.rank](const std::string& sentence) {
            failures[static_cast<std::size_t>(rank)].add(sentence);
        };
    });
}

TEST(NcclCommunicator, ARankThatIsLateIsWaitedForLongerThanOneThatHangs) {
    std::array<Failures, 2> failures;
    runNoted(std::chrono::milliseconds(200), failures, [](Communicator& c) {
        c.barrier({}).wait();
        // Writes a checkpoint.
        if (c.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(600));
        c.barrier({}).wait();
    });
    EXPECT_EQ(failures[0].count() + failures[1].count(), 0U);
}

TEST(NcclCommunicator, ARankThatNeverComesIsNamed) {
    std::array<Failures, 2> failures;
    runNoted(std::chrono::milliseconds(20), failures, [&](Communicator& c) {
        c.barrier({}).wait();
        comm::Work work;
        if (c.rank() == 0) work = c.barrier({Cause::kNorm, kNoLayer, 4});
        failures[0].first();
        c.abort();
    });
    EXPECT_THAT(failures[0].first(), HasSubstr("barrier 2 of 8 bytes in step 4 has been running on "
                                               "rank 0 for more than 0.2 s: rank 1 has not asked "
                                               "for it yet"));
    EXPECT_EQ(failures[1].count(), 0U);
}

/// A failed step is given up by the run and by the rank, and the watcher polls all the while: the
/// fake ends the process when a communicator is aborted twice or touched after.
TEST(NcclCommunicator, IsGivenUpOnceAndThenLeftAlone) {
    const int before = test::liveCommunicators();
    comm::NcclUniqueId id;
    test::fakeNccl().uniqueId(&id);
    test::FakeDevice device;
    control::DeviceClock clock(device);
    {
        const auto c = comm::makeNcclCommunicator(test::fakeSetup(device, clock, id, 0, 1));
        c->barrier({}).wait();
        c->abort();
        c->abort();
        awaitLiveCommunicators(before);
        std::this_thread::sleep_for(std::chrono::milliseconds(500));  // polls twice
        EXPECT_THROW(c->barrier({}), comm::CommunicationError);
    }
    EXPECT_EQ(test::liveCommunicators(), before);
}

TEST(NcclCommunicator, IsGivenUpWithThoseThatWereSplitFromIt) {
    const int before = test::liveCommunicators();
    test::runNcclRanks(4, [&](Communicator& c) {
        const std::vector<int> low{0, 1}, high{2, 3};
        const bool first = c.rank() < 2;
        const auto group = c.split(first ? low : high, first ? 1 : 2);
        group->barrier({}).wait();
        c.barrier({}).wait();
        // Its peer never comes: only giving up ends the group's operation, and the stream with it.
        if (c.rank() % 2 == 0) static_cast<void>(group->barrier({}));
        c.abort();
    });
    awaitLiveCommunicators(before);
}

TEST(NcclCommunicator, WhatNcclNoticesItselfIsToldAtOnce) {
    comm::NcclUniqueId id;
    test::fakeNccl().uniqueId(&id);
    test::FakeDevice device;
    control::DeviceClock clock(device);
    Failures failures;
    comm::NcclSetup setup = test::fakeSetup(device, clock, id, 0, 1);
    setup.failed = [&](const std::string& sentence) { failures.add(sentence); };
    const auto c = comm::makeNcclCommunicator(std::move(setup));
    test::failAsynchronously(id, 6);
    EXPECT_THAT(failures.first(), HasSubstr("NCCL reports on rank 0: remote process exited"));
    EXPECT_THROW(c->barrier({}), comm::CommunicationError);
}

TEST(NcclCommunicator, ALostDeviceIsTold) {
    comm::NcclUniqueId id;
    test::fakeNccl().uniqueId(&id);
    test::FakeDevice device;
    control::DeviceClock clock(device);
    Failures failures;
    comm::NcclSetup setup = test::fakeSetup(device, clock, id, 0, 1);
    setup.failed = [&](const std::string& sentence) { failures.add(sentence); };
    const auto c = comm::makeNcclCommunicator(std::move(setup));
    device.breakDown(control::DeviceFault::kLost, "an illegal memory access was encountered");
    const comm::Work work = c->barrier({Cause::kStart, kNoLayer, 3});
    EXPECT_THAT(failures.first(), HasSubstr("the device of rank 0 failed during barrier 1 of 8 "
                                            "bytes in step 3: an illegal memory access"));
    EXPECT_THROW(work.wait(), comm::CommunicationError);
}

TEST(NcclCommunicator, ADeviceLostWhileNothingRunsIsTold) {
    comm::NcclUniqueId id;
    test::fakeNccl().uniqueId(&id);
    test::FakeDevice device;
    control::DeviceClock clock(device);
    Failures failures;
    comm::NcclSetup setup = test::fakeSetup(device, clock, id, 0, 1);
    setup.failed = [&](const std::string& sentence) { failures.add(sentence); };
    const auto c = comm::makeNcclCommunicator(std::move(setup));
    device.breakDown(control::DeviceFault::kLost, "the GPU has fallen off the bus");
    EXPECT_THAT(failures.first(), HasSubstr("the device of rank 0 failed between operations: the "
                                            "GPU has fallen off the bus"));
    EXPECT_THROW(c->barrier({}), comm::CommunicationError);
}

TEST(NcclCommunicator, RefusesARankThatDoesNotFitInWords) {
    comm::NcclUniqueId id;
    test::fakeNccl().uniqueId(&id);
    test::FakeDevice device;
    control::DeviceClock clock(device);
    try {
        comm::makeNcclCommunicator(test::fakeSetup(device, clock, id, 3, 2));
        FAIL() << "joined";
    } catch (const comm::CommunicationError& error) {
        EXPECT_THAT(error.what(), HasSubstr("NCCL failed on rank 3 of 2 in joining"));
    }
}

TEST(NcclCommunicator, GivesItsEventsBack) {
    test::FakeDevice device;
    {
        control::DeviceClock clock(device);
        comm::NcclUniqueId id;
        test::fakeNccl().uniqueId(&id);
        KeptReports observer;
        comm::NcclSetup setup = test::fakeSetup(device, clock, id, 0, 1);
        setup.observer = &observer;
        const auto c = comm::makeNcclCommunicator(std::move(setup));
        for (std::size_t round = 1; round <= 10; ++round) {
            for (int i = 0; i < 20; ++i) c->barrier({}).wait();
            while (observer.count() < 20 * round) std::this_thread::yield();
        }
        EXPECT_LT(device.liveEvents(), 60);  // taken in turn, not two a call
    }
    EXPECT_EQ(device.liveEvents(), 0);
}

TEST(DeviceClock, PutsEventsBetweenTheHostReadingsAroundThem) {
    test::FakeDevice device;
    control::DeviceClock clock(device);
    const auto stream = device.createStream(false);
    const auto event = device.createEvent();
    const std::int64_t before = hostNow();
    device.record(event, stream);
    device.synchronize(event);
    const std::int64_t after = hostNow();
    EXPECT_GE(clock.hostNs(event), before - clock.errorNs());
    EXPECT_LE(clock.hostNs(event), after + clock.errorNs());
    device.destroy(event);
}

}  // namespace
}  // namespace shardscope
