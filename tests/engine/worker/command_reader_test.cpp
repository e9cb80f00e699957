// What an agent sends a rank, over a pair of sockets.
#include "engine/worker/command_reader.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <mutex>
#include <vector>

namespace shardscope::worker {
namespace {

class CommandReaderTest : public testing::Test {
protected:
    CommandReaderTest() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, m_ends.data()), 0); }
    ~CommandReaderTest() override {
        for (const int end : m_ends) ::close(end);
    }
    void send(const run::Message& message) const {
        const auto frame = run::encodeMessage(RankId{0}, run::encode(message));
        EXPECT_EQ(::write(m_ends[0], frame.data(), frame.size()),
                  static_cast<ssize_t>(frame.size()));
    }
    void take(CommandReader& reader) {
        reader.onClock([this](const run::ClockCorrection& each) {
            const std::lock_guard lock(m_mutex);
            m_taken.push_back(each.originNs);
        });
    }
    std::vector<std::int64_t> taken(std::size_t atLeast) {
        for (int turn = 0; turn < 2000; ++turn) {
            {
                const std::lock_guard lock(m_mutex);
                if (m_taken.size() >= atLeast) return m_taken;
            }
            ::poll(nullptr, 0, 5);
        }
        return {};
    }

    std::array<int, 2> m_ends{};
    std::mutex m_mutex;
    std::vector<std::int64_t> m_taken;
};

TEST_F(CommandReaderTest, CorrectionsThatCameEarlyAreKeptInOrder) {
    CommandReader reader(m_ends[1]);
    reader.watch();
    send(run::ClockCorrection{1, 10, 0});
    send(run::ClockCorrection{2, 20, 0});
    send(run::Command{"stop"});
    for (int turn = 0; turn < 2000 && !reader.stopWanted(); ++turn) ::poll(nullptr, 0, 5);
    ASSERT_TRUE(reader.stopWanted()) << "both corrections are read";
    take(reader);
    EXPECT_EQ(taken(2), (std::vector<std::int64_t>{10, 20})) << "at once";
    send(run::ClockCorrection{3, 30, 0});
    EXPECT_EQ(taken(3), (std::vector<std::int64_t>{10, 20, 30}));
}

TEST_F(CommandReaderTest, NobodyIsToldWhoWantsToHearNoMore) {
    CommandReader reader(m_ends[1]);
    take(reader);
    reader.onClock({});
    reader.watch();
    send(run::ClockCorrection{1, 10, 0});
    send(run::Command{"stop"});
    for (int turn = 0; turn < 2000 && !reader.stopWanted(); ++turn) ::poll(nullptr, 0, 5);
    ASSERT_TRUE(reader.stopWanted());
    EXPECT_TRUE(taken(0).empty());
}

}  // namespace
}  // namespace shardscope::worker
