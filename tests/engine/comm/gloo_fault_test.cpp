// What ranks that Gloo joins say when one of them is gone, hangs, or cannot be reached.
#include "tests/engine/comm/rank_errors.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace shardscope {
namespace {

using comm::Communicator;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

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
    constexpr std::size_t kSegment = std::size_t{1} << 20;
    const int fd = ::memfd_create("segment", MFD_CLOEXEC);
    ASSERT_EQ(::ftruncate(fd, kSegment), 0);
    const auto join = [&](int rank) {
        auto segment = comm::Segment::map(fd, kSegment, 2);
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
