// Operations of NCCL inside device graphs.
#include "engine/comm/nccl/nccl_communicator.h"
#include "engine/control/captured_graph.h"
#include "tests/engine/torch/kept_failures.h"
#include "tests/engine/torch/kept_reports.h"
#include "tests/engine/torch/rank_threads.h"

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <future>
#include <thread>

namespace shardscope {
namespace {

using comm::Accumulate;
using comm::CollectiveTag;
using comm::Communicator;
using comm::SymmetricBuffer;
using control::CapturedGraph;
using control::CollectiveReport;
using test::Failures;
using test::KeptReports;
using testing::ElementsAre;
using testing::HasSubstr;

/// A rank whose thread computes on a stream that can be captured.
class Rank {
public:
    Rank(test::FakeDevice& device, Communicator& c) : communicator(c), m_device(device) {
        device.computeOn(device.createStream(false));
    }

    /// As a kernel would: in the order of the stream, or of the graph.
    void compute(std::function<void()> work) const {
        test::FakeDevice::queue(m_device.currentStream().handle, std::move(work));
    }
    [[nodiscard]] CapturedGraph capture(const std::function<void()>& work) const {
        control::GraphRecorder* const recorder = communicator.graphs();
        return {m_device, {&recorder, 1}, "the test", work};
    }
    /// Until the device has done everything.
    void finish() const { m_device.synchronizeAll(); }

    Communicator& communicator;

private:
    test::FakeDevice& m_device;
};

void runGraphRanks(int ranks, const std::function<void(const Rank&)>& body,
                   const std::function<void(comm::NcclSetup&)>& change = {}) {
    comm::NcclUniqueId id;
    test::fakeNccl().uniqueId(&id);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            test::FakeDevice device;
            control::DeviceClock clock(device);
            comm::NcclSetup setup = test::fakeSetup(device, clock, id, rank, ranks);
            if (change) change(setup);
            const auto communicator = comm::makeNcclCommunicator(std::move(setup));
            body({device, *communicator});
        });
    }
    for (std::thread& thread : threads) thread.join();
}

/// What a micro-step does, in small: gathers a shard, computes with it, and adds up gradients.
class MicroStep {
public:
    explicit MicroStep(const Rank& rank)
        : m_rank(rank),
          m_shard(rank.communicator.allocate(kShard, DataType::kFloat32)),
          m_full(rank.communicator.allocate(kShard * ranks(), DataType::kBFloat16)),
          m_gathered(kShard * ranks()) {}

    /// As an optimizer would change the parameters.
    void setShard(float value) {
        m_rank.compute([this, value] {
            for (std::size_t i = 0; i < kShard; ++i)
                static_cast<float*>(m_shard.local)[i] = value + static_cast<float>(i);
        });
    }
    void run() {
        Communicator& c = m_rank.communicator;
        const comm::Work gather = c.allGather(m_shard, m_gathered.data(), {});
        gather.wait();
        m_rank.compute([this] {
            auto* gradients = static_cast<std::uint16_t*>(m_full.local);
            for (std::size_t i = 0; i < m_gathered.size(); ++i)
                gradients[i] = comm::BFloat16::round(m_gathered[i] * 0.7F);
        });
        c.waitPeers(c.reduceScatter(m_full, m_sums.data(), Accumulate::kYes, {}));
        m_rank.compute([this] {
            for (float& sum : m_sums) sum *= 0.5F;
        });
    }
    /// Once the device is done.
    [[nodiscard]] const std::array<float, 5>& sums() const { return m_sums; }

private:
    static constexpr std::size_t kShard = 5;
    [[nodiscard]] std::size_t ranks() const {
        return static_cast<std::size_t>(m_rank.communicator.size());
    }

    const Rank& m_rank;
    SymmetricBuffer m_shard, m_full;
    std::vector<float> m_gathered;
    std::array<float, kShard> m_sums{};
};

TEST(NcclGraphs, ReplaysGiveWhatTheSameOperationsGive) {
    runGraphRanks(3, [](const Rank& rank) {
        MicroStep eager(rank), captured(rank);
        CapturedGraph first = rank.capture([&] { captured.run(); });
        CapturedGraph second = rank.capture([&] { captured.run(); });
        for (int i = 0; i < 40; ++i) {
            const auto value = static_cast<float>(i * 3 + rank.communicator.rank());
            eager.setShard(value);
            eager.run();
            captured.setShard(value);
            (i % 2 == 0 ? first : second).launch(i);
        }
        rank.finish();
        EXPECT_EQ(captured.sums(), eager.sums());
        EXPECT_GT(captured.sums()[4], 100.0F);
    });
}

TEST(NcclGraphs, NothingRunsBeforeTheFirstLaunch) {
    KeptReports observer;
    runGraphRanks(
        1,
        [](const Rank& rank) {
            MicroStep captured(rank);
            captured.setShard(8);
            const CapturedGraph graph = rank.capture([&] { captured.run(); });
            rank.finish();
            EXPECT_THAT(captured.sums(), testing::Each(0.0F));
        },
        [&](comm::NcclSetup& setup) { setup.observer = &observer; });
    EXPECT_THAT(observer.reports, testing::IsEmpty());
}

/// Two operations, of layers 5 and 6.
struct TwoOperations {
    explicit TwoOperations(Communicator& c)
        : communicator(c),
          shard(c.allocate(4, DataType::kFloat32)),
          out(4 * static_cast<std::size_t>(c.size())) {}
    /// As a graph has them: nobody needs to wait for the second one.
    void operator()() {
        communicator.allGather(shard, out.data(), {Cause::kDemand, LayerIndex{5}, 1}).wait();
        static_cast<void>(communicator.allReduce(shard, {Cause::kGradient, LayerIndex{6}, 1}));
    }
    Communicator& communicator;
    SymmetricBuffer shard;
    std::vector<float> out;
};

TEST(NcclGraphs, EachReplayIsToldWithItsStepAndNumbersThatGoOn) {
    std::array<KeptReports, 2> observers;
    runGraphRanks(
        2,
        [](const Rank& rank) {
            TwoOperations both(rank.communicator);
            rank.communicator.barrier({}).wait();
            CapturedGraph graph = rank.capture([&] { both(); });
            rank.communicator.barrier({}).wait();
            graph.launch(7);
            graph.launch(8);
            rank.communicator.barrier({}).wait();
            rank.finish();
        },
        [&](comm::NcclSetup& setup) {
            setup.observer = &observers[static_cast<std::size_t>(setup.rank)];
        });
    for (const KeptReports& observer : observers) {
        const auto& reports = observer.reports;
        ASSERT_EQ(reports.size(), 7U);
        std::vector<std::int32_t> steps;
        for (std::size_t i = 0; i < reports.size(); ++i) {
            EXPECT_EQ(reports[i].sequence, i + 1);
            steps.push_back(reports[i].step);
        }
        EXPECT_THAT(steps, ElementsAre(-1, -1, 7, 7, 8, 8, -1));
        EXPECT_EQ(reports[1].captured, 0U);
        EXPECT_NE(reports[2].captured, 0U);
        EXPECT_NE(reports[2].captured, reports[3].captured);
        EXPECT_EQ(reports[4].captured, reports[2].captured);
        EXPECT_EQ(reports[4].operation, CollectiveOp::kAllGather);
        EXPECT_EQ(reports[4].layer, LayerIndex{5});
        EXPECT_EQ(reports[4].cause, Cause::kDemand);
        EXPECT_EQ(reports[5].operation, CollectiveOp::kAllReduce);
        EXPECT_EQ(reports[5].layer, LayerIndex{6});
    }
}

TEST(NcclGraphs, EachReplayHasTimesOfItsOwn) {
    KeptReports observer;
    runGraphRanks(
        1,
        [](const Rank& rank) {
            TwoOperations both(rank.communicator);
            CapturedGraph graph = rank.capture([&] { both(); });
            for (int i = 0; i < 20; ++i) graph.launch(i);
            rank.finish();
        },
        [&](comm::NcclSetup& setup) { setup.observer = &observer; });
    ASSERT_EQ(observer.reports.size(), 40U);
    const CollectiveReport* last = nullptr;
    for (const CollectiveReport& report : observer.reports) {
        EXPECT_LE(report.issueNs, report.startNs);
        EXPECT_LE(report.startNs, report.endNs);
        // From two references of the clock at most.
        if (last != nullptr) {
            EXPECT_LE(last->startNs, report.startNs) << report.step;
        }
        last = &report;
    }
}

/// The events of a graph say "reached", of the launch before, until this one comes to them.
TEST(NcclGraphs, AReplayIsNotToldBeforeItHasRun) {
    KeptReports observer;
    std::promise<void> goOn;
    runGraphRanks(
        1,
        [&](const Rank& rank) {
            TwoOperations both(rank.communicator);
            CapturedGraph graph = rank.capture([&] { both(); });
            graph.launch(1);
            rank.compute([done = goOn.get_future().share()] { done.wait(); });
            graph.launch(2);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            EXPECT_EQ(observer.count(), 2U);
            goOn.set_value();
            rank.finish();
        },
        [&](comm::NcclSetup& setup) { setup.observer = &observer; });
    EXPECT_EQ(observer.count(), 4U);
}

TEST(NcclGraphs, AGraphIsNotLaunchedAgainBeforeItsTimesWereRead) {
    KeptReports observer;
    runGraphRanks(
        1,
        [&](const Rank& rank) {
            TwoOperations both(rank.communicator);
            CapturedGraph graph = rank.capture([&] { both(); });
            for (std::size_t i = 0; i < 20; ++i) {
                graph.launch(static_cast<std::int32_t>(i));
                EXPECT_GE(observer.count(), 2 * i);
            }
            rank.finish();
        },
        [&](comm::NcclSetup& setup) { setup.observer = &observer; });
}

TEST(NcclGraphs, WhatWasQueuedBeforeTheLaunchComesFirstThoughNobodyWaitedForIt) {
    runGraphRanks(2, [](const Rank& rank) {
        Communicator& c = rank.communicator;
        const SymmetricBuffer shard = c.allocate(1, DataType::kFloat32);
        std::vector<float> gathered(2);
        float seen = 0;
        const comm::Work before = c.allGather(shard, gathered.data(), {});
        CapturedGraph graph = rank.capture([&] {
            before.wait();  // as for a gather behind the optimizer
            EXPECT_TRUE(before.ready());
            rank.compute([&] { seen = gathered[0] + gathered[1]; });
        });
        for (int i = 1; i < 30; ++i) {
            rank.compute([&, i] { *static_cast<float*>(shard.local) = static_cast<float>(i); });
            static_cast<void>(c.allGather(shard, gathered.data(), {}));
            graph.launch(i);
            rank.finish();
            ASSERT_EQ(seen, static_cast<float>(2 * i));
        }
    });
}

TEST(NcclGraphs, WhatWasCapturedIsThereForWhoComesAfterTheLaunch) {
    runGraphRanks(2, [](const Rank& rank) {
        Communicator& c = rank.communicator;
        const SymmetricBuffer shard = c.allocate(1, DataType::kFloat32);
        std::vector<float> gathered(2);
        comm::Work inside;
        CapturedGraph graph = rank.capture([&] {
            inside = c.allGather(shard, gathered.data(), {});
            EXPECT_FALSE(inside.ready());
        });
        for (int i = 1; i < 30; ++i) {
            float seen = 0;
            rank.compute([&, i] { *static_cast<float*>(shard.local) = static_cast<float>(i); });
            graph.launch(i);
            EXPECT_TRUE(inside.ready());
            inside.wait();
            rank.compute([&] { seen = gathered[0] + gathered[1]; });
            rank.finish();
            ASSERT_EQ(seen, static_cast<float>(2 * i));
        }
    });
}

TEST(NcclGraphs, GroupsTakePartInTheirCommunicatorsCapture) {
    std::array<KeptReports, 4> observers;
    runGraphRanks(
        4,
        [](const Rank& rank) {
            Communicator& c = rank.communicator;
            const std::vector<int> low{0, 1}, high{2, 3};
            const auto group = c.split(c.rank() < 2 ? low : high, c.rank() < 2 ? 1 : 2);
            TwoOperations world(c), part(*group);
            CapturedGraph graph = rank.capture([&] {
                part();
                world();
            });
            for (int i = 0; i < 3; ++i) {
                rank.compute([&] {
                    *static_cast<float*>(part.shard.local) = 1;
                    *static_cast<float*>(world.shard.local) = 1;
                });
                graph.launch(i);
            }
            rank.finish();
            EXPECT_EQ(*static_cast<float*>(part.shard.local), 2.0F);
            EXPECT_EQ(*static_cast<float*>(world.shard.local), 4.0F);
        },
        [&](comm::NcclSetup& setup) {
            setup.observer = &observers[static_cast<std::size_t>(setup.rank)];
        });
    for (const KeptReports& observer : observers) {
        std::array<std::uint64_t, 3> last{};
        for (const CollectiveReport& report : observer.reports) {
            EXPECT_EQ(report.sequence, last[report.group] + 1);
            last[report.group] = report.sequence;
        }
        EXPECT_EQ(last[0], 6U);
        EXPECT_EQ(last[1] + last[2], 6U);
    }
}

TEST(NcclGraphs, WhatNeedsTheHostIsRefused) {
    runGraphRanks(2, [](const Rank& rank) {
        Communicator& c = rank.communicator;
        std::array<double, 1> value{};
        const SymmetricBuffer buffer = c.allocate(1, DataType::kFloat32);
        for (const std::function<void()>& call : std::vector<std::function<void()>>{
                 [&] { c.barrier({}); },
                 [&] { c.allReduceSmall(value, comm::Reduction::kSum, {}); },
                 [&] { c.send(buffer, 1 - c.rank(), {}); },
             }) {
            EXPECT_THAT([&] { static_cast<void>(rank.capture(call)); },
                        testing::ThrowsMessage<comm::CommunicationError>(
                            HasSubstr("cannot be part of a graph")));
        }
        c.barrier({}).wait();
    });
}

/// One rank whose operations hang after so many; what its watcher says.
std::string sentenceOfHangAfter(int count, int launches) {
    comm::NcclUniqueId id;
    test::fakeNccl().uniqueId(&id);
    test::hangAfter(id, count);
    test::FakeDevice device;
    control::DeviceClock clock(device);
    Failures failures;
    comm::NcclSetup setup = test::fakeSetup(device, clock, id, 0, 1);
    setup.timeout = std::chrono::milliseconds(100);
    setup.failed = [&](const std::string& sentence) { failures.add(sentence); };
    const auto c = comm::makeNcclCommunicator(std::move(setup));
    const Rank rank(device, *c);
    TwoOperations both(*c);
    {
        CapturedGraph graph = rank.capture([&] { both(); });
        for (int i = 0; i < launches; ++i) graph.launch(i);
        const std::string sentence = failures.first();
        EXPECT_THROW(graph.launch(99), comm::CommunicationError);
        c->abort();
        rank.finish();
        return sentence;
    }
}

TEST(NcclGraphs, AHangInsideIsNamedAsFarAsItIsKnown) {
    EXPECT_THAT(sentenceOfHangAfter(0, 1),
                HasSubstr("the graph of the test has been running on rank 0 for more than 0.1 s "
                          "and has come to all-gather 1 of 16 bytes in step 0, layer 5: a peer"));
    EXPECT_THAT(sentenceOfHangAfter(1, 1), HasSubstr("all-reduce 2 of 16 bytes in step 0"));
}

/// Where the events of the graph have times of the launch before.
TEST(NcclGraphs, AHangInALaterReplayIsNamedToo) {
    EXPECT_THAT(sentenceOfHangAfter(2, 2),
                HasSubstr("all-gather 3 of 16 bytes in step 1, layer 5"));
    EXPECT_THAT(sentenceOfHangAfter(3, 2),
                HasSubstr("all-reduce 4 of 16 bytes in step 1, layer 6"));
}

/// Two ranks that see what the other one asks for.
void runNoted(std::array<Failures, 2>& failures, const std::function<void(const Rank&)>& body) {
    std::array<comm::CallRecord, 2> records{};
    runGraphRanks(2, body, [&](comm::NcclSetup& setup) {
        for (comm::CallRecord& record : records) setup.calls.push_back(&record);
        setup.timeout = std::chrono::milliseconds(20);
        setup.failed = [&failures, rank = setup.rank](const std::string& sentence) {
            failures[static_cast<std::size_t>(rank)].add(sentence);
        };
    });
}

TEST(NcclGraphs, ARankThatDoesNotLaunchIsNamed) {
    std::array<Failures, 2> failures;
    runNoted(failures, [&](const Rank& rank) {
        TwoOperations both(rank.communicator);
        CapturedGraph graph = rank.capture([&] { both(); });
        if (rank.communicator.rank() == 0) graph.launch(4);
        failures[0].first();
        rank.communicator.abort();
        if (rank.communicator.rank() == 0) rank.finish();
    });
    EXPECT_THAT(failures[0].first(), HasSubstr("has come to all-gather 1 of 32 bytes in step 4, "
                                               "layer 5: rank 1 has not asked for it yet"));
    EXPECT_EQ(failures[1].count(), 0U);
}

TEST(NcclGraphs, RanksWhoseGraphsDifferAreNamed) {
    std::array<Failures, 2> failures;
    runNoted(failures, [&](const Rank& rank) {
        TwoOperations both(rank.communicator);
        const auto place = static_cast<std::size_t>(rank.communicator.rank());
        CapturedGraph graph = rank.capture([&] {
            if (place == 1) static_cast<void>(rank.communicator.allReduce(both.shard, {}));
            both();
        });
        graph.launch(0);
        failures[place].first();
        rank.communicator.abort();
        rank.finish();
    });
    EXPECT_THAT(failures[0].first(), HasSubstr("collective 1: rank 0 asks for all-gather"));
}

TEST(NcclGraphs, GivingUpWhileCapturingEndsTheCapture) {
    runGraphRanks(1, [](const Rank& rank) {
        TwoOperations both(rank.communicator);
        EXPECT_THROW(rank.capture([&] {
            both();
            std::thread([&] { rank.communicator.abort(); }).join();
            both();
        }),
                     comm::CommunicationError);
        bool ran = false;
        rank.compute([&] { ran = true; });
        rank.finish();
        EXPECT_TRUE(ran);
    });
}

TEST(NcclGraphs, EventsComeBackWhenAGraphGoes) {
    comm::NcclUniqueId id;
    test::fakeNccl().uniqueId(&id);
    test::FakeDevice device;
    {
        control::DeviceClock clock(device);
        const auto c = comm::makeNcclCommunicator(test::fakeSetup(device, clock, id, 0, 1));
        const Rank rank(device, *c);
        TwoOperations both(*c);
        for (int i = 0; i < 50; ++i) {
            CapturedGraph graph = rank.capture([&] { both(); });
            graph.launch(i);
            graph.launch(i);
            rank.finish();
        }
        EXPECT_LT(device.liveEvents(), 100) << "eleven are in use at a time, and a few more";
    }
    EXPECT_EQ(device.liveEvents(), 0);
}

TEST(NcclGraphs, CommunicatorsOfCpusHaveNone) {
    test::runRanks(2, [](Communicator& c) { EXPECT_EQ(c.graphs(), nullptr); });
}

}  // namespace
}  // namespace shardscope
