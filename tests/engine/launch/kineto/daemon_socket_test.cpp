// The daemon's socket: who asks by the kernel's word, names that are taken, folders of others.
#include "engine/launch/kineto/protocol.h"
#include "tests/engine/launch/kineto/kineto_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace shardscope::launch::kineto {
namespace {

using testing::HasSubstr;

class Folder {
public:
    Folder() : m_path("/tmp/kineto-test-XXXXXX") { EXPECT_NE(::mkdtemp(m_path.data()), nullptr); }
    ~Folder() { std::filesystem::remove_all(m_path); }
    [[nodiscard]] const std::string& path() const { return m_path; }

private:
    std::string m_path;
};

/// As PyTorch has it: a socket of its own name beside the daemon's.
class Client {
public:
    explicit Client(const std::string& folder)
        : m_socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        const sockaddr_un own = address(folder + "/client");
        EXPECT_EQ(::bind(m_socket.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
        m_daemon = address(folder + "/dynolog");
    }
    void send(const std::string& bytes) const {
        EXPECT_EQ(::sendto(m_socket.get(), bytes.data(), bytes.size(), 0,
                           reinterpret_cast<const sockaddr*>(&m_daemon), sizeof m_daemon),
                  static_cast<ssize_t>(bytes.size()));
    }
    [[nodiscard]] std::string receive() const {
        std::string bytes(1000, '\0');
        const ssize_t got = ::recv(m_socket.get(), bytes.data(), bytes.size(), 0);
        bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return bytes;
    }

private:
    static sockaddr_un address(const std::string& path) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        return address;
    }
    FileDescriptor m_socket;
    sockaddr_un m_daemon{};
};

TEST(KinetoSocket, HearsWhoAsksAndAnswers) {
    const Folder folder;
    auto daemon = DaemonSocket::open(folder.path());
    ASSERT_TRUE(daemon) << daemon.error().message;
    EXPECT_FALSE(daemon->receive());
    const Client client(folder.path());
    client.send(test::request({5, 1}));
    const auto heard = daemon->receive();
    ASSERT_TRUE(heard);
    EXPECT_EQ(heard->bytes, test::request({5, 1}));
    EXPECT_EQ(heard->pid, ::getpid());  // whatever the request says
    EXPECT_EQ(heard->user, ::geteuid());
    daemon->send(heard->from, requestAnswer("A=1"));
    EXPECT_EQ(client.receive(), requestAnswer("A=1"));
}

TEST(KinetoSocket, SurvivesLongDatagramsAndSendersThatAreGone) {
    const Folder folder;
    auto daemon = DaemonSocket::open(folder.path());
    ASSERT_TRUE(daemon);
    std::optional<DaemonSocket::Datagram> heard;
    {
        const Client client(folder.path());
        client.send(std::string(100'000, 'x'));
        heard = daemon->receive();
    }
    ASSERT_TRUE(heard);
    EXPECT_FALSE(decode(heard->bytes));
    std::filesystem::remove(folder.path() + "/client");
    daemon->send(heard->from, requestAnswer("A=1"));
    daemon->send({}, requestAnswer("A=1"));
    EXPECT_FALSE(daemon->receive());
}

TEST(KinetoSocket, LeavesANameThatAnotherDaemonHas) {
    const Folder folder;
    auto first = DaemonSocket::open(folder.path());
    ASSERT_TRUE(first);
    const auto second = DaemonSocket::open(folder.path());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kFailure);
    EXPECT_THAT(second.error().message, HasSubstr("another daemon"));
    EXPECT_TRUE(std::filesystem::exists(folder.path() + "/dynolog"));
}

TEST(KinetoSocket, ReplacesWhatAnEndedOneHasLeft) {
    const Folder folder;
    const std::string path = folder.path() + "/dynolog";
    {
        auto daemon = DaemonSocket::open(folder.path());
        ASSERT_TRUE(daemon);
        std::filesystem::rename(path, path + "-kept");
    }
    std::filesystem::rename(path + "-kept", path);
    EXPECT_TRUE(DaemonSocket::open(folder.path()));
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(KinetoSocket, RefusesFoldersOfOthersAndLongNames) {
    const Folder folder;
    EXPECT_THAT(DaemonSocket::open(folder.path() + "/none").error().message,
                HasSubstr("is no folder"));
    ::chmod(folder.path().c_str(), 0777);
    EXPECT_THAT(DaemonSocket::open(folder.path()).error().message,
                HasSubstr("can be written to by other users"));
    ::chmod(folder.path().c_str(), 0700);
    const std::string longer = folder.path() + "/" + std::string(60, 'a');
    std::filesystem::create_directory(longer);
    EXPECT_THAT(DaemonSocket::open(longer).error().message, HasSubstr("too long a name"));
}

}  // namespace
}  // namespace shardscope::launch::kineto
