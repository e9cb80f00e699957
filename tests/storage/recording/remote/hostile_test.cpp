// Strangers at either end of the stream: a sentence, never a crash and never a wait without end.
#include "storage/columns/byte_io.h"
#include "storage/model/step_facts.h"
#include "storage/recording/remote/remote_address.h"
#include "tests/storage/recording/remote/served_here.h"
#include "tests/support/random_events.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

namespace shardscope::storage::remote {
namespace {

using test::FailsAs;
using test::FailsWith;
using test::IsOk;
using Bytes = std::vector<std::byte>;

/// Who reads, without a session's manners.
class Stranger {
public:
    Stranger() {
        const auto ends = streamPair();
        m_fd = ends[0];
        m_thread = std::thread([this, fd = ends[1]] { m_outcome = serve(fd, ::dup(fd)); });
    }
    ~Stranger() { static_cast<void>(end()); }
    Stranger(const Stranger&) = delete;
    Stranger& operator=(const Stranger&) = delete;

    void write(std::span<const std::byte> bytes) const {
        // It may have hung up already.
        while (!bytes.empty()) {
            const ssize_t count = ::send(m_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (count <= 0) return;
            bytes = bytes.subspan(static_cast<std::size_t>(count));
        }
    }
    void send(FrameKind kind, std::uint32_t number, std::span<const std::byte> payload) const {
        write(encodeFrame(kind, number, payload));
    }
    /// Waits for the other side to hang up by itself.
    Result<void> outcome() {
        m_thread.join();
        return m_outcome;
    }
    Result<void> end() {
        if (m_fd >= 0) ::shutdown(m_fd, SHUT_RDWR);
        if (m_thread.joinable()) m_thread.join();
        if (m_fd >= 0) ::close(m_fd);
        m_fd = -1;
        return m_outcome;
    }

private:
    int m_fd = -1;
    Result<void> m_outcome;
    std::thread m_thread;
};

Bytes randomBytes(test::RandomEvents& random, std::size_t count) {
    Bytes bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.bits());
    return bytes;
}

TEST(StrangerAtTheServer, WithBytesThatAreNoFrames) {
    Stranger stranger;
    stranger.write(std::as_bytes(std::span(std::string_view("GET / HTTP/1.1\r\n\r\n"))));
    EXPECT_THAT(stranger.outcome(), FailsAs(ErrorCode::kUnreadable));
}

TEST(StrangerAtTheServer, WithAFrameThatSaysItIsHuge) {
    Stranger stranger;
    Bytes bytes;
    columns::putNumber(bytes, std::uint32_t{0xffff'fff0});
    stranger.write(bytes);
    EXPECT_THAT(stranger.outcome(), FailsWith("a frame of 4294967280 bytes"));
}

TEST(StrangerAtTheServer, WithCallsOutOfOrder) {
    Stranger stranger;
    stranger.send(FrameKind::kCall, 7, encodeCall(Summary{}));
    EXPECT_THAT(stranger.outcome(), FailsAs(ErrorCode::kUnreadable));
}

TEST(StrangerAtTheServer, WithAnAnswer) {
    Stranger stranger;
    stranger.send(FrameKind::kLast, 1, encodeCall(Summary{}));
    EXPECT_THAT(stranger.outcome(), FailsAs(ErrorCode::kUnreadable));
}

TEST(StrangerAtTheServer, WithACallOfNoKind) {
    Stranger stranger;
    stranger.send(FrameKind::kCall, 1, Bytes{std::byte{200}});
    EXPECT_THAT(stranger.outcome(), FailsWith("cannot be read"));
}

TEST(StrangerAtTheServer, WhoAsksWithoutEndAndReadsNothing) {
    Stranger stranger;
    for (std::uint32_t number = 1; number < 3'000; ++number)
        stranger.send(FrameKind::kCall, number, encodeCall(ListFolder{"/usr/include"}));
    EXPECT_THAT(stranger.outcome(), FailsWith("more calls than it waits for"));
}

TEST(StrangerAtTheServer, WithAnyBytesInsideOfFrames) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path, {.steps = 1}), IsOk());
    test::RandomEvents random(8);
    for (int round = 0; round < 60; ++round) {
        Stranger stranger;
        stranger.send(FrameKind::kCall, 1, encodeCall(Open{path}));
        for (std::uint32_t number = 2; number < 6; ++number) {
            Bytes call =
                encodeCall(SpansInView{{{{0}, {2}}, {{1}, {3}}}, {{{0}, {1'000'000}}, {100}, {}}});
            call[0] = static_cast<std::byte>(random.between(0, std::variant_size_v<Call>));
            const auto at = static_cast<std::size_t>(
                random.between(1, static_cast<std::int64_t>(call.size()) - 1));
            call[at] = static_cast<std::byte>(random.bits());
            stranger.send(FrameKind::kCall, number, call);
        }
        static_cast<void>(stranger.end());
    }
}

TEST(StrangerAtTheServer, GoingInTheMiddleOfAFrameIsNoFault) {
    Stranger stranger;
    const Bytes frame = encodeFrame(FrameKind::kCall, 1, encodeCall(Summary{}));
    stranger.write(std::span(frame).first(frame.size() / 2));
    EXPECT_THAT(stranger.end(), IsOk());
}

/// Who serves, without a server's manners: these frames, then the end.
Result<RecordingSummary> summaryFrom(const Bytes& bytes) {
    const auto ends = streamPair();
    std::thread writer([fd = ends[1], &bytes] {
        std::span<const std::byte> rest(bytes);
        while (!rest.empty()) {
            const ssize_t count = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
            if (count <= 0) break;
            rest = rest.subspan(static_cast<std::size_t>(count));
        }
        ::shutdown(fd, SHUT_WR);
        // Closed at once, what was sent might be lost with it.
        std::array<std::byte, 4096> sink;
        while (::read(fd, sink.data(), sink.size()) > 0) continue;
        ::close(fd);
    });
    Result<RecordingSummary> summary = [&]() -> Result<RecordingSummary> {
        auto session = sessionOver(ends[0]);
        if (!session) return failure(session);
        return (*session)->ask(Summary{});
    }();
    writer.join();
    return summary;
}

Bytes helloOf(std::uint32_t version) {
    columns::wire::Writer out;
    out.put(version);
    return encodeFrame(FrameKind::kHello, 0, out.take());
}
Bytes operator+(Bytes a, const Bytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}
Bytes saidFrame(FrameKind kind, std::uint32_t number, const Said& said) {
    columns::wire::Writer out;
    out.put(said);
    return encodeFrame(kind, number, out.take());
}
Bytes goodAnswer() {
    columns::wire::Writer out;
    RecordingSummary summary;
    summary.run.id = "id";
    out.put(summary);
    return encodeFrame(FrameKind::kLast, 1, out.take());
}

TEST(StrangerWhoServes, IsUnderstoodWhenItIsNone) {
    const auto summary = summaryFrom(helloOf(kVersion) + goodAnswer());
    ASSERT_THAT(summary, IsOk());
    EXPECT_EQ(summary->run.id, "id");
}

TEST(StrangerWhoServes, OfAnotherVersionIsRefusedInWords) {
    EXPECT_THAT(summaryFrom(helloOf(kVersion + 1)), FailsWith("bring both to the same release"));
}

TEST(StrangerWhoServes, SaysWhyThereIsNoConnection) {
    const Bytes bytes = saidFrame(FrameKind::kNotice, 0, {0, "connecting"}) +
                        saidFrame(FrameKind::kFailure, 0, {4, "no such host \x1b[31m"});
    const auto summary = summaryFrom(bytes);
    EXPECT_THAT(summary, FailsAs(ErrorCode::kLaunch));
    EXPECT_THAT(summary, FailsWith("no such host \\x1b[31m")) << "nothing that moves a terminal";
}

TEST(StrangerWhoServes, WithACodeThatIsNone) {
    const Bytes bytes = helloOf(kVersion) + saidFrame(FrameKind::kFailure, 1, {77, "odd"});
    EXPECT_THAT(summaryFrom(bytes), FailsAs(ErrorCode::kFailure));
}

TEST(StrangerWhoServes, WithAnswersThatWereNotAskedFor) {
    const Bytes later = encodeFrame(FrameKind::kLast, 9, {});
    EXPECT_THAT(summaryFrom(helloOf(kVersion) + later), FailsWith("was not asked"));
    const Bytes call = encodeFrame(FrameKind::kCall, 1, {});
    EXPECT_THAT(summaryFrom(helloOf(kVersion) + call), FailsWith("something else"));
    EXPECT_THAT(summaryFrom(helloOf(kVersion) + encodeFrame(FrameKind::kLast, 1, {})),
                FailsWith("cannot be read"));
    EXPECT_THAT(summaryFrom(helloOf(kVersion) + encodeFrame(FrameKind::kTexts, 1, {})),
                FailsWith("strings cannot be read"));
}

TEST(StrangerWhoServes, CutAtAnyByte) {
    const Bytes whole = helloOf(kVersion) + goodAnswer();
    for (std::size_t size = 0; size < whole.size(); size += 3) {
        const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_THAT(summaryFrom(part), FailsAs(ErrorCode::kLaunch)) << size;
    }
}

TEST(StrangerWhoServes, WithAnyBytes) {
    test::RandomEvents random(9);
    for (int round = 0; round < 100; ++round) {
        Bytes bytes = helloOf(kVersion) + goodAnswer();
        const auto at = static_cast<std::size_t>(
            random.between(0, static_cast<std::int64_t>(bytes.size()) - 1));
        const Bytes noise = randomBytes(random, static_cast<std::size_t>(random.between(1, 64)));
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), noise.begin(), noise.end());
        const auto summary = summaryFrom(bytes);
        EXPECT_TRUE(summary || !summary.error().message.empty());
    }
}

TEST(Frames, AreTheSameInWhateverPiecesTheyCome) {
    test::RandomEvents random(10);
    const Bytes payload = randomBytes(random, 5'000);
    const Bytes stream = encodeFrame(FrameKind::kCall, 1, payload) +
                         encodeFrame(FrameKind::kCancel, 2, {}) +
                         encodeFrame(FrameKind::kPart, 3, Bytes(kMostPayload));
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
        FrameParser parser;
        std::vector<Frame> frames;
        for (std::size_t at = 0; at < stream.size(); at += piece) {
            parser.append(std::span(stream).subspan(at).first(std::min(piece, stream.size() - at)));
            while (true) {
                auto frame = parser.next();
                ASSERT_THAT(frame, IsOk());
                if (!*frame) break;
                frames.push_back(std::move(**frame));
            }
        }
        ASSERT_EQ(frames.size(), 3u);
        EXPECT_EQ(frames[0].payload, payload);
        EXPECT_EQ(frames[1].kind, FrameKind::kCancel);
        EXPECT_EQ(frames[2].number, 3u);
        EXPECT_EQ(frames[2].payload.size(), kMostPayload);
    }
}

TEST(Frames, OneFlippedBitIsSeen) {
    const Bytes whole = encodeFrame(FrameKind::kCall, 1, Bytes(100, std::byte{5}));
    for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
        Bytes bytes = whole;
        bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
        FrameParser parser;
        parser.append(bytes);
        const auto frame = parser.next();
        EXPECT_TRUE(!frame || !*frame) << bit;
    }
}

TEST(RemoteAddress, SaysWhereARecordingLies) {
    const auto plain = parseAddress("ssh://me@node-1.example/data/my run.sscope");
    ASSERT_THAT(plain, IsOk());
    EXPECT_EQ(plain->target, "me@node-1.example");
    EXPECT_EQ(plain->path, "/data/my run.sscope");
    const auto withPort = parseAddress("ssh://node:2222/~/run.sscope");
    ASSERT_THAT(withPort, IsOk());
    EXPECT_EQ(withPort->target, "ssh://node:2222");
    EXPECT_EQ(withPort->path, "~/run.sscope");
    EXPECT_EQ(parseAddress("ssh://node")->path, "~");
    EXPECT_TRUE(isRemote("ssh://node"));
    EXPECT_FALSE(isRemote("run.sscope"));
}

TEST(RemoteAddress, NothingReachesSshThatIsNoHost) {
    for (const char* text :
         {"ssh://", "ssh:///x", "ssh://-oProxyCommand=x/y", "ssh://a b/c", "ssh://me@-x/c",
          "ssh://@host/c", "ssh://host:/c", "ssh://host:99999/c", "ssh://host:2x/c", "ssh://a;b/c",
          "ssh://host/~you/c", "run.sscope"})
        EXPECT_THAT(parseAddress(text), FailsAs(ErrorCode::kUsage)) << text;
}

}  // namespace
}  // namespace shardscope::storage::remote
