// The connection of a process to its recorder, and a program that closes it.
#include "profiler/inject/recorder_link.h"

#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>

namespace shardscope::inject {
namespace {

using capture::LinkMessage;

/// Listens as a recorder does, and takes what comes.
class Recorder {
public:
    explicit Recorder(std::string path) : m_path(std::move(path)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, m_path.c_str(), sizeof(address.sun_path) - 1);
        m_listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        EXPECT_EQ(::bind(m_listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(m_listener, 8), 0);
    }
    ~Recorder() {
        hangUp();
        ::close(m_listener);
    }
    void hangUp() {
        if (m_guest >= 0) ::close(m_guest);
        m_guest = -1;
        m_reader = {};
    }
    void answer() {
        hangUp();
        m_guest = ::accept(m_listener, nullptr, nullptr);
        ASSERT_GE(m_guest, 0);
    }
    /// Waits for it.
    LinkMessage next() {
        for (;;) {
            auto message = m_reader.next();
            if (!message) ADD_FAILURE() << message.error().message;
            if (!message) return {};
            if (*message) return **message;
            std::array<std::byte, 4096> bytes{};
            const auto got = ::recv(m_guest, bytes.data(), bytes.size(), 0);
            if (got <= 0) ADD_FAILURE() << "the process said no more";
            if (got <= 0) return {};
            m_reader.append(std::span(bytes).first(static_cast<std::size_t>(got)));
        }
    }
    void say(const LinkMessage& message) const {
        const auto bytes = capture::encodeLink(message);
        EXPECT_EQ(::send(m_guest, bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }

private:
    std::string m_path;
    int m_listener = -1, m_guest = -1;
    capture::LinkReader m_reader;
};

class RecorderLinkTest : public testing::Test {
protected:
    RecorderLink connect() {
        const auto descriptor = RecorderLink::connectTo(path);
        EXPECT_TRUE(descriptor);
        used = *descriptor;
        return {path, used, {77, 5, "test"}};
    }
    static void turn(RecorderLink& link) {
        link.turn(0, [](const LinkMessage&) {});
    }
    std::string text(const LinkMessage& message) {
        const auto* said = std::get_if<capture::LogText>(&message);
        return said != nullptr ? said->text : "(" + std::to_string(message.index()) + ")";
    }

    test::TemporaryFolder folder;
    std::string path = folder.file("socket");
    Recorder recorder{path};
    int used = -1;
};

TEST_F(RecorderLinkTest, GreetsThenSendsInOrder) {
    RecorderLink link = connect();
    recorder.answer();
    EXPECT_TRUE(link.post(capture::LogText{"info", "a"}));
    EXPECT_TRUE(link.post(capture::LogText{"info", "b"}));
    turn(link);
    const auto hello = recorder.next();
    ASSERT_TRUE(std::holds_alternative<capture::ProcessHello>(hello));
    EXPECT_EQ(std::get<capture::ProcessHello>(hello).pid, 77);
    EXPECT_EQ(text(recorder.next()), "a");
    EXPECT_EQ(text(recorder.next()), "b");
    EXPECT_TRUE(link.isEmpty());
}

TEST_F(RecorderLinkTest, TakesOrders) {
    RecorderLink link = connect();
    recorder.answer();
    recorder.say(CaptureChange{"light", "", 4});
    CaptureChange order;
    link.turn(1000, [&](const LinkMessage& said) { order = std::get<CaptureChange>(said); });
    EXPECT_EQ(order.level, "light");
    EXPECT_EQ(order.every, 4);
}

TEST_F(RecorderLinkTest, ConnectsAgainWhereTheProgramClosedIt) {
    RecorderLink link = connect();
    recorder.answer();
    turn(link);
    recorder.next();
    // The program closes all descriptors, and has a file of its own under our number then.
    const std::string own = folder.file("own");
    ::close(used);
    const int file = ::open(own.c_str(), O_CREAT | O_RDWR, 0600);
    ASSERT_EQ(::dup2(file, used), used);
    link.post(capture::LogText{"info", "after"});
    turn(link);
    recorder.answer();
    turn(link);
    ASSERT_TRUE(std::holds_alternative<capture::ProcessHello>(recorder.next()));
    EXPECT_EQ(text(recorder.next()), "after");
    EXPECT_EQ(::lseek(file, 0, SEEK_END), 0) << "something was written to the program's file";
    ::close(file);
    ::close(used);
}

TEST_F(RecorderLinkTest, NoticesThatTheRecorderIsGone) {
    RecorderLink link = connect();
    recorder.answer();
    turn(link);
    recorder.hangUp();
    for (int i = 0; i < 100 && !link.isLost(); ++i) {
        link.post(capture::LogText{"info", "x"});
        link.turn(10, [](const LinkMessage&) {});
    }
    EXPECT_TRUE(link.isLost());
    EXPECT_FALSE(link.post(capture::LogText{"info", "x"}));
}

TEST_F(RecorderLinkTest, HoldsABoundedAmount) {
    RecorderLink link = connect();
    recorder.answer();
    const capture::EventChunk chunk{columns::ChunkBytes(std::size_t{1} << 20)};
    std::size_t taken = 0;
    while (taken < 100 && link.post(chunk)) ++taken;
    EXPECT_GE(taken, 10u);
    EXPECT_LE(taken, RecorderLink::kMostWaiting >> 20);
    // What is no event still finds room.
    EXPECT_TRUE(link.post(capture::LogText{"info", "x"}));
}

TEST(RecorderLinks, ARecorderThatIsNotThereIsASentence) {
    EXPECT_THAT(RecorderLink::connectTo("/nonexistent/socket"),
                test::FailsWith("the recorder is not reached at /nonexistent/socket"));
    EXPECT_THAT(RecorderLink::connectTo(std::string(300, 'x')), test::FailsWith("no usable path"));
}

}  // namespace
}  // namespace shardscope::inject
