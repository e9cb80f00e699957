#include "engine/launch/frame_channel.h"

#include "engine/launch/process.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace shardscope::launch
