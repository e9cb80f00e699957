// A peer that dies in the midst of a message: Gloo itself tells nobody of it.
#include "tests/engine/comm/host_ranks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace shardscope {
namespace {

/// More than any socket holds; the kernel gives memory for what is touched only.
constexpr std::size_t kMessage = std::size_t{512} << 20;
constexpr std::chrono::milliseconds kNeverReached = std::chrono::minutes(4);
constexpr std::uint32_t kTag = 1;

/// Rank 1 is a process of its own, which this test ends.
class MeshLoss : public testing::Test {
protected:
    void SetUp() override {
        if (!comm::hasGloo()) GTEST_SKIP() << "built without Gloo";
    }
    void TearDown() override { kill(); }

    std::shared_ptr<comm::Mesh> meet(const std::function<void(comm::Mesh&)>& peer) {
        const test::HostRanks ranks({1, 1});
        m_peer = ::fork();
        if (m_peer == 0) {
            peer(*ranks.mesh(1, kNeverReached));
            for (;;) ::pause();
        }
        return ranks.mesh(0, kNeverReached);
    }
    void kill() {
        if (m_peer <= 0) return;
        ::kill(m_peer, SIGKILL);
        ::waitpid(m_peer, nullptr, 0);
        m_peer = 0;
    }
    static void expectLost(comm::Transfer& message) {
        try {
            message.wait(kNeverReached);
            ADD_FAILURE() << "it came";
        } catch (const comm::TransferError& error) {
            EXPECT_EQ(error.kind(), comm::TransferError::Kind::kLost);
        }
    }

private:
    pid_t m_peer = 0;
};

TEST_F(MeshLoss, OneThatIsHalfWrittenIsLost) {
    const auto mesh = meet([](comm::Mesh& peer) {
        const std::unique_ptr<char[]> row(new char[kMessage]);
        const auto received = peer.receive(row.get(), kMessage, 0, kTag);
        ::raise(SIGSTOP);  // reads no more
    });
    const std::vector<char> row(kMessage);
    const auto sent = mesh->send(row.data(), kMessage, 1, kTag);
    ::usleep(300'000);
    kill();
    expectLost(*sent);
}

TEST_F(MeshLoss, OneThatIsHalfReadIsLost) {
    const auto mesh = meet([](comm::Mesh& peer) {
        const std::vector<char> row(kMessage, 'x');
        peer.send(row.data(), kMessage, 0, kTag)->wait(kNeverReached);
    });
    std::vector<char> row(kMessage);
    const auto received = mesh->receive(row.data(), kMessage, 1, kTag);
    const std::atomic_ref<char> first(row.front());
    while (first != 'x') ::usleep(10);
    kill();
    expectLost(*received);
}

TEST_F(MeshLoss, WhatCameBeforeItIsThere) {
    const auto mesh = meet([](comm::Mesh& peer) {
        const char said = 'x';
        peer.send(&said, 1, 0, kTag)->wait(kNeverReached);
    });
    char heard = 0, next = 0;
    const auto first = mesh->receive(&heard, 1, 1, kTag);
    const auto second = mesh->receive(&next, 1, 1, kTag);
    while (std::atomic_ref<char>(heard) != 'x') ::usleep(10);
    kill();
    expectLost(*second);
    EXPECT_NO_THROW(first->wait(kNeverReached));
}

TEST_F(MeshLoss, OneThatIsBegunAfterwardsIsLost) {
    const auto mesh = meet([](comm::Mesh& peer) {
        const char said = 'x';
        peer.send(&said, 1, 0, kTag)->wait(kNeverReached);
    });
    char heard = 0;
    mesh->receive(&heard, 1, 1, kTag)->wait(kNeverReached);
    const auto waits = mesh->receive(&heard, 1, 1, kTag);
    kill();
    expectLost(*waits);
    EXPECT_THROW(mesh->send(&heard, 1, 1, kTag)->wait(kNeverReached), comm::TransferError);
    EXPECT_THROW(mesh->receive(&heard, 1, 1, kTag)->wait(kNeverReached), comm::TransferError);
}

}  // namespace
}  // namespace shardscope
