#include "engine/launch/frame_channel.h"

#include "engine/launch/event_sender.h"
#include "engine/launch/process.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace shardscope::launch {
namespace {

class FrameChannelTest : public testing::Test {
protected:
    FrameChannelTest() {
        auto ends = socketPair();
        EXPECT_TRUE(ends.has_value());
        m_here = FrameChannel(std::move(ends->first));
        m_there = FrameChannel(std::move(ends->second));
    }
    FrameChannel m_here;
    FrameChannel m_there;
};

TEST_F(FrameChannelTest, CarriesMessagesBothWays) {
    m_here.send(RankId{3}, run::Command{"stop"});
    m_here.flush();
    m_there.send(run::kNoRank, run::Heartbeat{});
    m_there.flush();
    std::vector<run::Frame> frames;
    ASSERT_TRUE(m_there.receive(frames).has_value());
    ASSERT_TRUE(m_here.receive(frames).has_value());
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_EQ(frames[0].rank, RankId{3});
    EXPECT_EQ(frames[1].rank, run::kNoRank);
}

TEST_F(FrameChannelTest, KeepsWhatDoesNotFitAndSendsItInOrder) {
    constexpr int kCount = 40;
    for (int i = 0; i < kCount; ++i) {
        run::Frame frame;
        frame.type = run::FrameType::kChunk;
        frame.payload.assign(100'000, static_cast<std::byte>(i));
        m_here.send(frame);
    }
    m_here.flush();
    EXPECT_GT(m_here.pendingBytes(), 0u) << "more than a socket holds";
    std::vector<run::Frame> frames;
    for (int turn = 0; turn < 1000 && frames.size() < kCount; ++turn) {
        ASSERT_TRUE(m_there.receive(frames).has_value());
        m_here.flush();
    }
    ASSERT_EQ(frames.size(), static_cast<std::size_t>(kCount));
    for (int i = 0; i < kCount; ++i) {
        const auto& payload = frames[static_cast<std::size_t>(i)].payload;
        EXPECT_EQ(payload.size(), 100'000u);
        EXPECT_EQ(payload.back(), static_cast<std::byte>(i));
    }
    EXPECT_EQ(m_here.pendingBytes(), 0u);
}

TEST_F(FrameChannelTest, ClosesWithTheOtherSideAfterItsLastWords) {
    m_there.send(RankId{0}, run::AgentDone{});
    m_there.flush();
    m_there.close();
    std::vector<run::Frame> frames;
    ASSERT_TRUE(m_here.receive(frames).has_value());
    EXPECT_EQ(frames.size(), 1u);
    EXPECT_FALSE(m_here.isOpen());
    std::vector<pollfd> polls;
    m_here.addPolls(polls, true);
    EXPECT_TRUE(polls.empty());
}

TEST_F(FrameChannelTest, RefusesBytesThatAreNoFramesAndCloses) {
    auto ends = socketPair();
    ASSERT_TRUE(ends.has_value());
    FrameChannel channel(std::move(ends->first));
    const std::string noise(64, 'x');
    ASSERT_EQ(::write(ends->second.get(), noise.data(), noise.size()), 64);
    std::vector<run::Frame> frames;
    const auto received = channel.receive(frames);
    ASSERT_FALSE(received.has_value());
    EXPECT_THAT(received.error().message, testing::HasSubstr("protocol version"));
    EXPECT_FALSE(channel.isOpen());
}

/// Both ends of a connection whose frames are sealed, and the wire between them in our hands.
class SealedChannelTest : public testing::Test {
protected:
    SealedChannelTest() {
        const network::Key one{1}, other{2};
        m_recorder = through(m_fromRecorder, {network::Seal(one), network::Seal(other)});
        m_agent = through(m_toAgent, {network::Seal(other), network::Seal(one)});
    }
    static FrameChannel through(FileDescriptor& wire, const network::SealPair& seals) {
        auto ends = socketPair().value();
        wire = std::move(ends.second);
        FrameChannel channel(std::move(ends.first));
        channel.seal(seals);
        return channel;
    }
    /// What the recorder has sent, as it is on the wire.
    std::string sent(const std::vector<std::string>& verbs) {
        for (const std::string& verb : verbs) m_recorder.send(run::kNoRank, run::Command{verb});
        m_recorder.flush();
        std::string bytes(1 << 16, '\0');
        bytes.resize(static_cast<std::size_t>(
            ::recv(m_fromRecorder.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)));
        return bytes;
    }
    /// The verbs that the agent takes from these bytes; "broken": it has ended the stream.
    std::vector<std::string> taken(const std::string& bytes) {
        EXPECT_EQ(::send(m_toAgent.get(), bytes.data(), bytes.size(), 0),
                  static_cast<ssize_t>(bytes.size()));
        std::vector<run::Frame> frames;
        const auto received = m_agent.receive(frames);
        std::vector<std::string> verbs;
        for (const run::Frame& frame : frames)
            verbs.push_back(std::get<run::Command>(run::decode(frame.text()).value()).verb);
        if (!received) verbs.emplace_back("broken");
        EXPECT_EQ(received.has_value(), m_agent.isOpen());
        return verbs;
    }
    FrameChannel m_recorder, m_agent;
    FileDescriptor m_fromRecorder, m_toAgent;
};

using Verbs = std::vector<std::string>;

TEST_F(SealedChannelTest, CarriesFramesWhole) {
    const std::string bytes = sent({"stop", "kill"});
    EXPECT_EQ(taken(bytes.substr(0, 7)), Verbs{});
    EXPECT_EQ(taken(bytes.substr(7)), (Verbs{"stop", "kill"}));
}

TEST_F(SealedChannelTest, AKeyIsReadByTheOtherSideAlone) {
    const network::Key key = network::drawKey();
    const network::Key seen = m_recorder.veil(key);
    EXPECT_NE(seen, key);
    EXPECT_EQ(m_agent.unveil(seen), key);
    EXPECT_NE(m_agent.veil(key), seen) << "directions have keys of their own";
    EXPECT_EQ(FrameChannel().veil(key), key);
}

TEST_F(SealedChannelTest, NoBitCanBeChanged) {
    const std::string good = sent({"stop"});
    for (std::size_t at = 0; at < good.size(); ++at) {
        SealedChannelTest::m_agent =
            through(m_toAgent, {network::Seal(network::Key{2}), network::Seal(network::Key{1})});
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 0x10);
        const Verbs verbs = taken(bad);
        // A length that was made longer waits for bytes that do not come.
        EXPECT_TRUE(verbs == Verbs{"broken"} || (at < 4 && verbs.empty())) << at;
    }
}

TEST_F(SealedChannelTest, NoFrameCanBeSaidTwiceLeftOutOrPutIn) {
    const std::string first = sent({"stop"}), second = sent({"kill"});
    EXPECT_EQ(taken(second), Verbs{"broken"}) << "the first left out";
    m_agent = through(m_toAgent, {network::Seal(network::Key{2}), network::Seal(network::Key{1})});
    EXPECT_EQ(taken(first + first), (Verbs{"stop", "broken"}));
    m_agent = through(m_toAgent, {network::Seal(network::Key{2}), network::Seal(network::Key{1})});
    const auto plain = run::encodeMessage(run::kNoRank, run::encode(run::Command{"kill"}));
    EXPECT_EQ(taken(std::string(reinterpret_cast<const char*>(plain.data()), plain.size()) +
                    std::string(64, 'x')),
              Verbs{"broken"})
        << "a frame without a tag";
}

TEST_F(SealedChannelTest, ItsOwnWordsAreNotTakenBack) {
    m_agent.send(run::kNoRank, run::Command{"kill"});
    m_agent.flush();
    std::string bytes(1 << 16, '\0');
    bytes.resize(static_cast<std::size_t>(
        ::recv(m_toAgent.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)));
    EXPECT_EQ(taken(bytes), Verbs{"broken"});
}

TEST_F(SealedChannelTest, AnEndlessFrameIsRefusedAtOnce) {
    EXPECT_EQ(taken("\xff\xff\xff\xff"), Verbs{"broken"});
}

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
