#include "engine/launch/event_sender.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <random>

namespace shardscope::launch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::vector<std::byte> frame(std::uint32_t mark, std::size_t size) {
    std::vector<std::byte> bytes(size, std::byte{static_cast<unsigned char>(mark)});
    std::memcpy(bytes.data(), &mark, std::min(size, sizeof mark));
    return bytes;
}

class ChunkBacklogTest : public testing::Test {
protected:
    test::TemporaryFolder m_folder;
    std::string m_path = m_folder.file("spill");
    void SetUp() override { std::filesystem::create_directory(m_path); }
};

TEST_F(ChunkBacklogTest, WhatIsPutInFirstComesOutFirstHoweverItIsHeld) {
    std::mt19937 random(20261123);
    for (int round = 0; round < 40; ++round) {
        ChunkBacklog backlog(
            {random() % 4000, static_cast<std::int64_t>(random() % 20'000), m_path});
        std::deque<std::vector<std::byte>> expected;
        std::int64_t bytes = 0;
        for (std::uint32_t turn = 0; turn < 800; ++turn) {
            const bool growing = (turn / 100) % 2 == 0;
            if (random() % 10 < (growing ? 8u : 2u)) {
                expected.push_back(frame(turn, 4 + random() % 400));
                bytes += static_cast<std::int64_t>(expected.back().size());
                backlog.push(expected.back());
            } else if (!expected.empty()) {
                const auto oldest = backlog.pop();
                ASSERT_TRUE(oldest);
                ASSERT_EQ(*oldest, expected.front()) << "round " << round << ", turn " << turn;
                bytes -= static_cast<std::int64_t>(expected.front().size());
                expected.pop_front();
            }
            ASSERT_EQ(backlog.bytes(), bytes);
            ASSERT_EQ(backlog.empty(), expected.empty());
        }
    }
}

TEST_F(ChunkBacklogTest, TakesNoMoreOfTheDiskThanItMayAndLeavesNothingThere) {
    ChunkBacklog backlog({100, 1000, m_path});
    for (std::uint32_t i = 0; i < 10 && !backlog.full(); ++i) backlog.push(frame(i, 300));
    EXPECT_TRUE(backlog.full());
    EXPECT_EQ(backlog.bytesOnDisk(), 900);
    EXPECT_TRUE(std::filesystem::is_empty(m_path)) << "the file has no name";
    while (!backlog.empty()) ASSERT_TRUE(backlog.pop());
    EXPECT_FALSE(backlog.full());
    EXPECT_EQ(backlog.bytesOnDisk(), 0);
}

TEST_F(ChunkBacklogTest, WithoutAFolderAllIsHeldInMemoryAndTheReasonTold) {
    ChunkBacklog backlog({100, 1000, m_folder.file("nowhere")});
    backlog.push(frame(1, 80));
    EXPECT_EQ(backlog.trouble(), "");
    backlog.push(frame(2, 80));
    EXPECT_THAT(backlog.trouble(), HasSubstr("nowhere: No such file or directory"));
    EXPECT_TRUE(backlog.full());
    EXPECT_EQ(*backlog.pop(), frame(1, 80));
    EXPECT_EQ(*backlog.pop(), frame(2, 80));
}

/// A disk that is full: no file of this process may grow beyond a few bytes.
TEST_F(ChunkBacklogTest, OnADiskThatIsFullNothingIsLost) {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    rlimit small = before;
    small.rlim_cur = 1000;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    ChunkBacklog backlog({100, 1 << 20, m_path});
    for (std::uint32_t i = 0; i < 6; ++i) backlog.push(frame(i, 300));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, SIG_DFL);
    EXPECT_THAT(backlog.trouble(), HasSubstr("cannot be written: File too large"));
    EXPECT_TRUE(backlog.full());
    for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(*backlog.pop(), frame(i, 300)) << i;
}

TEST_F(ChunkBacklogTest, ThatIsClearedIsEmpty) {
    ChunkBacklog backlog({100, 1000, m_path});
    for (std::uint32_t i = 0; i < 4; ++i) backlog.push(frame(i, 300));
    backlog.clear();
    EXPECT_TRUE(backlog.empty());
    backlog.push(frame(9, 10));
    EXPECT_EQ(*backlog.pop(), frame(9, 10));
}

TEST(SendWindowTest, IsHalfASecondOfWhatIsTakenIn) {
    const SendWindow::Clock::time_point start{};
    SendWindow window(start);
    EXPECT_TRUE(window.open());
    window.noteSent(SendWindow::kLeast);
    EXPECT_FALSE(window.open());
    // 10 MB a second.
    for (int turn = 1; turn <= 100; ++turn) {
        window.noteTaken(turn * 100'000, start + turn * 10ms);
        window.noteSent(100'000);
    }
    EXPECT_NEAR(static_cast<double>(window.size()), 5e6, 0.1e6);
    // And 100 KB a second.
    std::int64_t taken = 10'000'000;
    for (int turn = 1; turn <= 200; ++turn)
        window.noteTaken(taken += 1000, start + 1s + turn * 10ms);
    EXPECT_EQ(window.size(), SendWindow::kLeast);
}

TEST(SendWindowTest, BelievesNoMoreThanWasSent) {
    const SendWindow::Clock::time_point start{};
    SendWindow window(start);
    window.noteSent(10);
    window.noteTaken(1 << 30, start + 1ms);
    window.noteSent(SendWindow::kLeast);
    EXPECT_FALSE(window.open());
    window.noteTaken(-5, start + 2ms);
    EXPECT_FALSE(window.open());
}

}  // namespace
}  // namespace shardscope::launch
