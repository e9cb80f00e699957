// What a rank records and posts, kept for a test to look at.
#pragma once

#include "engine/run/protocol/frame.h"
#include "engine/run/protocol/messages.h"
#include "engine/worker/outbox.h"
#include "profiler/capture/capture_session.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <variant>
#include <vector>

namespace shardscope::worker {

/// A capture session that keeps its events.
class KeptSession final : public capture::EventSink {
public:
    KeptSession() : session({}, *this) {}

    void strings(StringId, const std::vector<std::string>&) override {}
    void lane(const LaneFacts& lane) override { lanes.push_back(lane); }
    void chunk(const columns::ChunkBytes& bytes) override {
        const auto header = columns::decodeHeader(bytes);
        ASSERT_TRUE(header);
        if (header->kind == EventKind::kSpan) append(spans, columns::decodeSpans(bytes));
        if (header->kind == EventKind::kCollective)
            append(collectives, columns::decodeCollectives(bytes));
    }
    /// All of a lane that were sent so far, this call included; by start.
    std::vector<SpanEvent> on(LaneId lane) {
        session.drain(0, true);
        std::vector<SpanEvent> found;
        for (const SpanEvent& span : spans)
            if (span.lane == lane) found.push_back(span);
        return found;
    }

    std::vector<LaneFacts> lanes;
    std::vector<SpanEvent> spans;
    std::vector<CollectiveEvent> collectives;
    capture::CaptureSession session;

private:
    template <class Event>
    static void append(std::vector<Event>& all, const Result<std::vector<Event>>& decoded) {
        ASSERT_TRUE(decoded);
        all.insert(all.end(), decoded->begin(), decoded->end());
    }
};

/// An outbox whose agent is the test.
class KeptOutbox {
public:
    KeptOutbox() : outbox(ends()[0], RankId{0}), m_session({}, outbox) {}
    KeptOutbox(const KeptOutbox&) = delete;
    KeptOutbox& operator=(const KeptOutbox&) = delete;
    ~KeptOutbox() {
        for (const int end : m_ends) ::close(end);
    }

    /// Ends it; what was posted, of this kind.
    template <class Message>
    std::vector<Message> posted() {
        outbox.start(m_session, [](bool) {});
        outbox.finish();
        ::shutdown(m_ends[0], SHUT_WR);
        std::vector<Message> found;
        run::FrameParser parser;
        std::array<std::byte, 4096> bytes{};
        for (ssize_t got; (got = ::read(m_ends[1], bytes.data(), bytes.size())) > 0;)
            parser.append(std::span(bytes).first(static_cast<std::size_t>(got)));
        for (;;) {
            const auto frame = parser.next();
            EXPECT_TRUE(frame);
            if (!frame || !*frame) return found;
            const auto message = run::decode((*frame)->text());
            EXPECT_TRUE(message);
            if (!message) return found;
            if (const auto* wanted = std::get_if<Message>(&*message)) found.push_back(*wanted);
        }
    }

private:
    std::array<int, 2>& ends() {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, m_ends.data()), 0);
        return m_ends;
    }
    std::array<int, 2> m_ends{};

public:
    Outbox outbox;

private:
    capture::CaptureSession m_session;
};

}  // namespace shardscope::worker
