// Ranks on two hosts: when one dies, hangs, gives up or asks for something else, every other rank
// ends and names it, whichever of the two levels it waits on.
#include "tests/engine/comm/host_ranks.h"
#include "tests/engine/comm/rank_errors.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <latch>

namespace shardscope {
namespace {

using comm::Communicator;
using comm::SymmetricBuffer;
using testing::AllOf;
using testing::HasSubstr;

/// Long after everybody should have ended.
constexpr std::chrono::milliseconds kNeverReached = std::chrono::minutes(4);

class HostRingFaults : public testing::Test {
protected:
    void SetUp() override {
        if (!comm::hasGloo()) GTEST_SKIP() << "built without Gloo";
    }
    static std::vector<std::string> errors(const test::RankCall& call,
                                           std::chrono::milliseconds timeout = kNeverReached) {
        const test::HostRanks hosts({2, 2});
        comm::HostRingSetup setup;
        setup.timeout = timeout;
        return test::errorsOf(
            4, [&](int rank) { return hosts.join(rank, setup); }, call);
    }
};

TEST_F(HostRingFaults, ARankThatHangsIsNamedByEveryOther) {
    for (int hangs = 0; hangs < 4; ++hangs) {
        const auto said = errors(
            [&](Communicator& c) {
                c.barrier({}).wait();
                if (c.rank() == hangs) return;  // goes on to something else, for ever
                c.allReduce(c.allocate(4, DataType::kFloat32), {Cause::kGradient, LayerIndex{3}, 0})
                    .wait();
            },
            std::chrono::seconds(2));
        for (int rank = 0; rank < 4; ++rank) {
            if (rank == hangs) continue;
            EXPECT_EQ(said[static_cast<std::size_t>(rank)],
                      "rank " + std::to_string(hangs) +
                          " has not joined all-reduce 2 of layer 3 for 2 s");
        }
    }
}

/// Comes to a meeting, and is held up before it has done with it.
class HeldUp final : public control::Observer {
public:
    explicit HeldUp(std::latch& until) : m_until(until) {}
    void stepBegin(std::int32_t) override {}
    void stepEnd(const control::StepReport&) override {}
    void phaseBegin(Phase, LayerIndex) override {}
    void phaseEnd(const control::PhaseReport&) override {}
    void collective(const control::CollectiveReport&) override {}
    void buffer(const control::BufferReport&) override { m_until.wait(); }
    void metric(control::Metric, std::int32_t, double) override {}

private:
    std::latch& m_until;
};

/// The ranks of its host wait until it has done with their rows, those of other hosts for these.
TEST_F(HostRingFaults, ARankThatDoesNotFinishIsNamedByEveryOther) {
    const test::HostRanks hosts({2, 2});
    std::latch ended(3);
    HeldUp heldUp(ended);
    const auto make = [&](int rank) {
        comm::HostRingSetup setup;
        setup.timeout = std::chrono::seconds(2);
        if (rank == 3) setup.memory = &heldUp;
        return hosts.join(rank, setup);
    };
    const auto said = test::errorsOf(4, make, [&](Communicator& c) {
        struct Ended {
            std::latch* of;
            ~Ended() {
                if (of != nullptr) of->count_down();
            }
        } const whenItEnds{c.rank() == 3 ? nullptr : &ended};
        // Of no bytes: nobody needs what rank 3 would copy.
        c.waitPeers(c.allGather(c.allocate(0, DataType::kFloat32), nullptr, {}));
        c.barrier({}).wait();
    });
    for (const std::size_t rank : {0, 1, 2})
        EXPECT_EQ(said[rank], "rank 3 has not finished all-gather 1 for 2 s") << rank;
}

/// Rank 0 gives up first, for one that waits as well.
TEST_F(HostRingFaults, WhoWaitsItselfIsNotToBlame) {
    const auto said = errors(
        [](Communicator& c) {
            const SymmetricBuffer row = c.allocate(4, DataType::kFloat32);
            c.barrier({}).wait();
            if (c.rank() == 0) c.receive(row, 2, {}).wait();
            ::usleep(300'000);
            if (c.rank() == 2) c.receive(row, 1, {}).wait();
        },
        std::chrono::seconds(2));
    const auto blamesOne = testing::StartsWith("rank 1 holds up rank 2: rank 2 has not joined ");
    EXPECT_THAT(said[0], blamesOne);
    EXPECT_THAT(said[2], blamesOne);
}

TEST_F(HostRingFaults, NobodyIsNamedForRanksThatWaitForEachOther) {
    const auto said = errors(
        [](Communicator& c) {
            const SymmetricBuffer row = c.allocate(4, DataType::kFloat32);
            c.barrier({}).wait();
            if (c.rank() == 0) c.receive(row, 2, {}).wait();
            if (c.rank() == 2) c.receive(row, 1, {}).wait();
            if (c.rank() == 1) c.receive(row, 0, {}).wait();
        },
        std::chrono::seconds(2));
    for (const std::size_t rank : {0, 1, 2})
        EXPECT_THAT(said[rank], testing::MatchesRegex("rank [012] has not joined receive .*"));
}

TEST_F(HostRingFaults, WhoAsksForSomethingElseIsNamedByEveryOther) {
    for (int odd = 0; odd < 4; ++odd) {
        const auto said = errors([&](Communicator& c) {
            c.barrier({}).wait();
            const SymmetricBuffer shard = c.allocate(c.rank() == odd ? 32 : 16, DataType::kFloat32);
            std::vector<float> out(128);
            c.allGather(shard, out.data(), {}).wait();
        });
        const std::string who = "rank " + std::to_string(odd);
        for (const std::string& sentence : said) {
            EXPECT_THAT(sentence, AllOf(HasSubstr("collective 2: "), HasSubstr(who),
                                        HasSubstr("for all-gather of 512 bytes of fp32"),
                                        HasSubstr("for all-gather of 256 bytes of fp32")));
        }
    }
}

TEST_F(HostRingFaults, AMessageThatDoesNotFitIsNamedOnBothHosts) {
    const auto said = errors([](Communicator& c) {
        const SymmetricBuffer row = c.allocate(c.rank() == 0 ? 16 : 8, DataType::kFloat32);
        if (c.rank() == 0) c.send(row, 3, {}).wait();
        if (c.rank() == 3) c.receive(row, 0, {}).wait();
    });
    for (const int rank : {0, 3}) {
        EXPECT_THAT(said[static_cast<std::size_t>(rank)],
                    AllOf(HasSubstr("send of 64 bytes of fp32 to rank 3"),
                          HasSubstr("receive of 32 bytes of fp32 from rank 0")));
    }
}

TEST_F(HostRingFaults, GroupsThatDoNotFitAreNamed) {
    const auto said = errors([](Communicator& c) {
        const std::vector<int> all{0, 1, 2, 3}, some{0, 3};
        static_cast<void>(c.split(c.rank() == 0 ? some : all, 5));
    });
    for (const std::string& sentence : said)
        EXPECT_THAT(sentence, AllOf(HasSubstr("rank 0"), HasSubstr("a split into group 5")));
}

TEST_F(HostRingFaults, GivingUpInAGroupFreesEveryRankAndIsNamed) {
    const auto said = errors([](Communicator& c) {
        // Replicas across hosts; rank 3 gives up in its own.
        const std::vector<int> even{0, 2}, odd{1, 3};
        const auto group = c.split(c.rank() % 2 == 0 ? even : odd, 1 + c.rank() % 2);
        c.barrier({}).wait();
        if (c.rank() == 3) return group->abort();
        (c.rank() == 1 ? *group : c).barrier({}).wait();
    });
    for (const int rank : {0, 1, 2})
        EXPECT_EQ(said[static_cast<std::size_t>(rank)], "rank 3 has given up");
}

/// Ranks in processes of their own. Gloo's threads do not survive a fork: this process has none.
class HostProcesses : public HostRingFaults {
protected:
    static constexpr std::size_t kSegment = std::size_t{64} << 20;
    struct Told {
        std::atomic<int> joined{0}, ended{0};
        std::array<std::array<char, 1024>, 4> sentences{};
    };

    void SetUp() override {
        HostRingFaults::SetUp();
        if (IsSkipped()) return;
        m_told = new (::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Told;
        const auto listener = network::listenOn("127.0.0.1");
        ASSERT_TRUE(listener);
        for (int& segment : m_segments) {
            segment = ::memfd_create("segment", MFD_CLOEXEC);
            ASSERT_EQ(::ftruncate(segment, kSegment), 0);
        }
        for (int rank = 0; rank < 4; ++rank) {
            m_pids[static_cast<std::size_t>(rank)] = ::fork();
            if (m_pids[static_cast<std::size_t>(rank)] == 0) live(rank, *listener);
        }
        ::close(listener->fd);
    }
    void TearDown() override {
        for (const pid_t pid : m_pids) {
            if (pid > 0) ::kill(pid, SIGKILL);
            if (pid > 0) ::waitpid(pid, nullptr, 0);
        }
    }

    /// Sums again and again, until something goes wrong.
    [[noreturn]] void live(int rank, const network::Listener& listener) {
        const auto at = static_cast<std::size_t>(rank);
        try {
            comm::HostRingSetup setup;
            setup.timeout = m_timeout;
            setup.segment = *comm::Segment::map(m_segments[at / 2], kSegment, 2);
            setup.mesh =
                comm::makeGlooMesh({.world = comm::WorldMeeting{rank, 4, "127.0.0.1", listener.port,
                                                                rank == 0 ? listener.fd : -1},
                                    .timeout = m_timeout});
            const auto c = comm::makeHostRingCommunicator(setup);
            const SymmetricBuffer row = c->allocate(100'000, DataType::kFloat32);
            c->barrier({}).wait();
            ++m_told->joined;
            for (;;) c->waitPeers(c->allReduce(row, {}));
        } catch (const std::exception& error) {
            std::strncpy(m_told->sentences[at].data(), error.what(),
                         m_told->sentences[at].size() - 1);
        }
        ++m_told->ended;
        for (;;) ::pause();  // a rank that ends is another fault
    }

    void awaitCount(const std::atomic<int>& count, int wanted) const {
        while (count < wanted) ::usleep(1000);
    }
    void harm(int rank, int signal) {
        awaitCount(m_told->joined, 4);
        ::usleep(20'000);  // in the midst of it
        ::kill(m_pids[static_cast<std::size_t>(rank)], signal);
        awaitCount(m_told->ended, 3);
    }
    [[nodiscard]] std::string said(int rank) const {
        return m_told->sentences[static_cast<std::size_t>(rank)].data();
    }

    std::chrono::milliseconds m_timeout = kNeverReached;
    Told* m_told = nullptr;
    std::array<int, 2> m_segments{};
    std::array<pid_t, 4> m_pids{};
};

TEST_F(HostProcesses, OneThatIsKilledIsNamedByEveryOtherLongBeforeTheTimeout) {
    harm(3, SIGKILL);
    for (const int rank : {0, 1, 2}) EXPECT_THAT(said(rank), HasSubstr("rank 3 ")) << rank;
}

TEST_F(HostProcesses, SoIsTheOneThatAllMetAt) {
    harm(0, SIGKILL);
    for (const int rank : {1, 2, 3}) EXPECT_THAT(said(rank), HasSubstr("rank 0 ")) << rank;
}

class StoppedHostProcesses : public HostProcesses {
protected:
    void SetUp() override {
        m_timeout = std::chrono::seconds(4);  // a quarter of it is what a busy machine may be late
        HostProcesses::SetUp();
    }
};

TEST_F(StoppedHostProcesses, OneThatIsStoppedIsNamedByEveryOther) {
    harm(3, SIGSTOP);
    for (const int rank : {0, 1, 2}) EXPECT_THAT(said(rank), HasSubstr("rank 3 ")) << rank;
}

}  // namespace
}  // namespace shardscope
