// A rank whose recorder takes nothing for long: bounded, counted, and in the end told.
#include "engine/worker/outbox.h"

#include "engine/run/protocol/frame.h"
#include "engine/run/protocol/messages.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace shardscope::worker {
namespace {

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
