// What an agent sends a rank, over a pair of sockets.
#include "engine/worker/command_reader.h"

#include "engine/run/protocol/frame.h"
#include "engine/run/protocol/messages.h"
#include "engine/worker/outbox.h"

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

// A rank whose recorder takes nothing for long: bounded, counted, and in the end told.

TEST(Outbox, DropsFiguresAndCountsThemWhenNobodyTakesThem) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    constexpr int kPosted = 400'000;  // some 60 MB
    int metrics = 0;
    std::int64_t lost = 0;
    bool failureTold = false;
    {
        Outbox outbox(ends[0], RankId{0});
        capture::CaptureSession session({}, outbox);
        outbox.start(session, [](bool) {});
        for (int i = 0; i < kPosted; ++i)
            outbox.post(run::MetricReported{{"loss", StepIndex{i}, Timestamp{i}, 1.0}});
        // What ends a run is kept even then.
        run::RankFailed failed;
        failed.message = "the last word";
        outbox.post(failed);
        std::thread reader([&] {
            run::FrameParser parser;
            std::array<std::byte, 65536> bytes;
            for (ssize_t count; (count = ::read(ends[1], bytes.data(), bytes.size())) > 0;) {
                parser.append(std::span(bytes).first(static_cast<std::size_t>(count)));
                for (auto frame = parser.next(); frame && *frame; frame = parser.next()) {
                    const auto message = run::decode((*frame)->text());
                    if (!message) continue;
                    if (std::holds_alternative<run::MetricReported>(*message)) ++metrics;
                    if (std::holds_alternative<run::RankFailed>(*message)) failureTold = true;
                    if (const auto* raised = std::get_if<run::DiagnosticRaised>(&*message))
                        lost += raised->diagnostic.count;
                }
            }
        });
        outbox.finish();
        ::shutdown(ends[0], SHUT_WR);
        reader.join();
    }
    EXPECT_GT(lost, 0);
    EXPECT_EQ(metrics + lost, kPosted) << "every one arrives or is counted";
    EXPECT_TRUE(failureTold);
    for (const int end : ends) ::close(end);
}

}  // namespace
}  // namespace shardscope::worker
