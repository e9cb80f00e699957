// Ranks that are processes: one dies or stops, and the others say which, and where.
#include "engine/comm/direct_communicator.h"
#include "engine/comm/peer_process.h"
#include "tests/engine/comm/rank_errors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

namespace shardscope {
namespace {

using comm::Communicator;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kSegment = std::size_t{16} << 20;

/// A rank in a process of its own, which afterwards sleeps until somebody ends it.
class ChildRank {
public:
    ChildRank(int fd, int rank, int ranks, const std::function<void(Communicator&)>& body)
        : m_pid(::fork()) {
        if (m_pid != 0) return;
        auto segment = comm::Segment::map(fd, kSegment, ranks);
        const auto c = comm::makeDirectCommunicator(*segment, rank, nullptr, "shared memory");
        body(*c);
        for (;;) ::pause();
    }
    ~ChildRank() {
        ::kill(m_pid, SIGKILL);
        ::waitpid(m_pid, nullptr, 0);
    }
    ChildRank(const ChildRank&) = delete;
    ChildRank& operator=(const ChildRank&) = delete;
    [[nodiscard]] pid_t pid() const { return m_pid; }

private:
    const pid_t m_pid;
};

class ProcessRanks : public testing::Test {
protected:
    ProcessRanks() : m_fd(::memfd_create("segment", MFD_CLOEXEC)) {
        EXPECT_EQ(::ftruncate(m_fd, kSegment), 0);
    }
    ~ProcessRanks() override { ::close(m_fd); }

    /// This process, as rank 0.
    std::unique_ptr<Communicator> join(int ranks, std::chrono::milliseconds timeout) {
        auto segment = comm::Segment::map(m_fd, kSegment, ranks);
        return comm::makeDirectCommunicator(*segment, 0, nullptr, "shared memory", timeout);
    }

    static std::string errorOf(const comm::Work& work) {
        try {
            work.wait();
        } catch (const comm::CommunicationError& error) {
            return error.what();
        }
        return "";
    }

    const int m_fd;
};

/// Long after the death should have been seen.
constexpr std::chrono::milliseconds kNeverReached = std::chrono::minutes(4);

TEST_F(ProcessRanks, OneThatWasKilledIsNamedLongBeforeTheTimeout) {
    const ChildRank child(m_fd, 1, 2, [](Communicator& c) { c.barrier({}).wait(); });
    const auto c = join(2, kNeverReached);
    c->barrier({}).wait();
    const comm::SymmetricBuffer shard = c->allocate(16, DataType::kFloat32);
    std::vector<float> out(32);
    const comm::Work work = c->allGather(shard, out.data(), {Cause::kDemand, LayerIndex{3}, 0});
    ::kill(child.pid(), SIGKILL);  // not reaped before the test ends
    EXPECT_EQ(errorOf(work),
              fmt::format("rank 1 (process {}) has ended while rank 0 waited for it in all-gather "
                          "2 of layer 3",
                          child.pid()));
    // What was queued behind it fails at once, too.
    EXPECT_THAT(errorOf(c->barrier({})), HasSubstr("all-gather 2 of layer 3"));
}

TEST_F(ProcessRanks, OneThatWasKilledInAGroupIsNamed) {
    const std::vector<int> both{0, 1};
    const ChildRank child(m_fd, 1, 2,
                          [&](Communicator& c) { c.split(both, 4)->barrier({}).wait(); });
    const auto c = join(2, kNeverReached);
    const auto part = c->split(both, 4);
    part->barrier({}).wait();
    const comm::Work work = part->receive(part->allocate(1, DataType::kByte), 1, {});
    ::kill(child.pid(), SIGKILL);
    EXPECT_THAT(errorOf(work), testing::AnyOf(HasSubstr("has ended"), HasSubstr("has left")));
}

TEST_F(ProcessRanks, OneThatStoppedIsNamedAfterTheTimeout) {
    const ChildRank child(m_fd, 1, 2, [](Communicator& c) {
        c.barrier({}).wait();
        ::pause();  // else it may have ended before it is stopped
    });
    const auto c = join(2, std::chrono::milliseconds(400));
    c->barrier({}).wait();
    ::kill(child.pid(), SIGSTOP);
    EXPECT_THAT(errorOf(c->barrier({Cause::kStop, kNoLayer, 1})),
                AllOf(HasSubstr("rank 1 has not joined barrier 2 for 0.4 s"),
                      HasSubstr(fmt::format("its process {} is stopped", child.pid()))));
}

TEST_F(ProcessRanks, OneThatNeverStartedIsNamedAfterTheTimeout) {
    const auto c = join(2, std::chrono::milliseconds(50));
    EXPECT_THAT(errorOf(c->barrier({})),
                HasSubstr("rank 1 has not joined barrier 1 for 0.05 s; it has not even started"));
}

TEST_F(ProcessRanks, OneThatArrivedAndThenDiedIsNotMissed) {
    auto child =
        std::make_unique<ChildRank>(m_fd, 1, 2, [](Communicator& c) { c.barrier({}).wait(); });
    auto segment = comm::Segment::map(m_fd, kSegment, 2);
    while ((*segment)->slot(1).arrived.load() == 0) ::usleep(1000);
    child.reset();
    const auto c = join(2, kNeverReached);
    EXPECT_EQ(errorOf(c->barrier({})), "");
    EXPECT_THAT(errorOf(c->barrier({})), HasSubstr("has ended while rank 0 waited"));
}

TEST(DirectFaults, AThreadThatHangsIsNamedAfterTheTimeout) {
    const auto errors = test::directErrors(
        3,
        [](Communicator& c) {
            c.barrier({}).wait();
            if (c.rank() == 2) return;  // goes on to something else, for ever
            c.allReduce(c.allocate(4, DataType::kFloat32), {Cause::kGradient, kRootLayer, 0})
                .wait();
        },
        std::chrono::milliseconds(300));
    for (const int rank : {0, 1}) {
        EXPECT_THAT(errors[static_cast<std::size_t>(rank)],
                    HasSubstr("rank 2 has not joined all-reduce 2 of the embedding for 0.3 s"));
    }
}

TEST(DirectFaults, ARankThatLeftIsNamedAtOnce) {
    auto segment = comm::Segment::anonymous(std::size_t{1} << 20, 2);
    ASSERT_TRUE(segment);
    const auto waiting =
        comm::makeDirectCommunicator(*segment, 0, nullptr, "threads", kNeverReached);
    const comm::Work work = waiting->barrier({});
    comm::makeDirectCommunicator(*segment, 1, nullptr, "threads", kNeverReached).reset();
    EXPECT_THROW(work.wait(), comm::CommunicationError);
}

TEST(DirectFaults, GivingUpInAGroupFreesThoseWhoWaitOutsideIt) {
    const auto errors = test::directErrors(
        3,
        [](Communicator& c) {
            const std::vector<int> pair{0, 1}, alone{2};
            const auto part = c.split(c.rank() == 2 ? alone : pair, c.rank() == 2 ? 2 : 1);
            if (c.rank() == 0) return part->abort();
            if (c.rank() == 1) return part->barrier({}).wait();
            c.barrier({}).wait();
        },
        kNeverReached);
    EXPECT_THAT(errors[1], HasSubstr("rank 0 gave up while rank 1 waited for rank 0 in barrier 1 "
                                     "in group 1"));
    EXPECT_THAT(errors[2], HasSubstr("rank 0 gave up while rank 2 waited"));
}

TEST(PeerProcess, TellsTheLivingFromTheDeadAndTheReplaced) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        for (;;) ::pause();
    }
    // Its identity as it would tell it.
    comm::ProcessIdentity child = comm::thisProcess();
    EXPECT_EQ(comm::stateOf(child), comm::ProcessState::kRuns);
    child.pid = pid;
    child.startTicks += 1'000'000;
    EXPECT_EQ(comm::stateOf(child), comm::ProcessState::kGone);  // another one with its number
    ::kill(pid, SIGKILL);
    siginfo_t ended;
    ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT);
    EXPECT_EQ(comm::stateOf(child), comm::ProcessState::kGone);
    ::waitpid(pid, nullptr, 0);
    EXPECT_EQ(comm::stateOf(child), comm::ProcessState::kGone);
    EXPECT_EQ(comm::stateOf({}), comm::ProcessState::kUnknown);
}

// What ranks that Gloo joins say when one of them is gone, hangs, or cannot be reached.

using testing::AnyOf;

class GlooFaults : public testing::Test {
protected:
    void SetUp() override {
        if (!comm::hasGloo()) GTEST_SKIP() << "built without Gloo";
    }
};

TEST_F(GlooFaults, ARankThatHangsIsNamedAfterTheTimeout) {
    const auto errors = test::glooErrors(
        2,
        [](Communicator& c) {
            c.barrier({}).wait();
            if (c.rank() == 1) return;
            c.allReduce(c.allocate(4, DataType::kFloat32), {Cause::kGradient, LayerIndex{3}, 0})
                .wait();
        },
        std::chrono::milliseconds(700));
    EXPECT_EQ(errors[0], "rank 1 has not joined all-reduce 2 of layer 3 for 0.7 s");
    EXPECT_EQ(errors[1], "");
}

TEST_F(GlooFaults, GivingUpFreesThePeersInEveryGroup) {
    const auto errors = test::glooErrors(
        3,
        [](Communicator& c) {
            const std::vector<int> pair{0, 1}, alone{2};
            const auto part = c.split(c.rank() == 2 ? alone : pair, c.rank() == 2 ? 2 : 1);
            if (c.rank() == 0) return part->abort();
            (c.rank() == 1 ? *part : c).barrier({}).wait();
        },
        std::chrono::minutes(4));
    EXPECT_THAT(errors[1], HasSubstr("rank 0 is out of reach of rank 1 in barrier 1 in group 1"));
    EXPECT_THAT(errors[2], HasSubstr("out of reach of rank 2 in barrier 1"));
}

/// In a process of its own: Gloo's threads do not survive a fork.
TEST_F(GlooFaults, AKilledProcessIsNamedLongBeforeTheTimeout) {
    constexpr std::size_t kSmallSegment = std::size_t{1} << 20;
    const int fd = ::memfd_create("segment", MFD_CLOEXEC);
    ASSERT_EQ(::ftruncate(fd, kSmallSegment), 0);
    const auto join = [&](int rank) {
        auto segment = comm::Segment::map(fd, kSmallSegment, 2);
        const auto host = comm::makeDirectCommunicator(*segment, rank, nullptr, "shared memory");
        return comm::makeGlooCommunicator({.host = host.get(), .timeout = std::chrono::minutes(4)});
    };
    const pid_t child = ::fork();
    if (child == 0) {
        const auto c = join(1);
        c->barrier({}).wait();
        for (;;) ::pause();
    }
    const auto c = join(0);
    c->barrier({}).wait();
    const comm::Work work = c->broadcast(c->allocate(64, DataType::kFloat32), 1, {});
    ::kill(child, SIGKILL);
    try {
        work.wait();
        ADD_FAILURE() << "a dead rank has broadcast";
    } catch (const comm::CommunicationError& error) {
        EXPECT_THAT(error.what(), HasSubstr("rank 1 is out of reach of rank 0 in broadcast 2"));
    }
    ::waitpid(child, nullptr, 0);
    ::close(fd);
}

TEST_F(GlooFaults, AnUnknownInterfaceIsRefusedWithThoseThereAre) {
    auto segment = comm::Segment::anonymous(std::size_t{1} << 20, 1);
    ASSERT_TRUE(segment);
    const auto host = comm::makeDirectCommunicator(*segment, 0, nullptr, "threads");
    try {
        comm::makeGlooCommunicator({.host = host.get(), .interface = "nowhere7"});
        FAIL() << "joined over nowhere7";
    } catch (const comm::CommunicationError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("no network interface or address 'nowhere7'"),
                                        HasSubstr("lo (127.0.0.1)")));
    }
}

}  // namespace
}  // namespace shardscope
