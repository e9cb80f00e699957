#include "engine/network/peer_check.h"

#include "engine/network/network_interface.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>

namespace shardscope::network {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kToken = "0123456789abcdef";

class PeerCheckTest : public testing::Test {
protected:
    PeerAnswerer answerer(const std::string& token = kToken) {
        return {listenOn("127.0.0.1").value(), token};
    }
    PeerCheck::Peer peer(int port) { return {"node-b", "127.0.0.1", port}; }

    /// Turns both until the check is done or `enough`.
    void turn(
        PeerCheck& check, std::vector<PeerAnswerer*> others,
        const std::function<bool()>& enough = [] { return false; }) {
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (!check.done() && !enough() && std::chrono::steady_clock::now() < deadline) {
            std::vector<pollfd> polls;
            check.addPolls(polls);
            for (const PeerAnswerer* each : others) each->addPolls(polls);
            ::poll(polls.data(), polls.size(), 10);
            for (PeerAnswerer* each : others) each->turn();
            check.turn();
        }
        EXPECT_TRUE(check.done() || enough());
    }
};

int connected(int port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
}

TEST_F(PeerCheckTest, FindsAllThatAnswer) {
    PeerAnswerer one = answerer(), two = answerer();
    PeerCheck check({peer(one.port()), peer(two.port())}, kToken, 10s);
    EXPECT_FALSE(check.done());
    turn(check, {&one, &two});
    EXPECT_THAT(check.failures(), IsEmpty());
}

TEST_F(PeerCheckTest, NamesWhoRefuses) {
    int closed = 0;
    { closed = answerer().port(); }
    PeerAnswerer one = answerer();
    PeerCheck check({peer(one.port()), peer(closed)}, kToken, 10s);
    turn(check, {&one});
    EXPECT_THAT(check.failures(),
                ElementsAre(HasSubstr("node-b at 127.0.0.1 port " + std::to_string(closed) +
                                      ": Connection refused")));
}

TEST_F(PeerCheckTest, NamesWhoStaysSilent) {
    const Listener mute = listenOn("127.0.0.1").value();
    PeerCheck check({peer(mute.port)}, kToken, 50ms);
    turn(check, {});
    EXPECT_THAT(check.failures(), ElementsAre(HasSubstr("nothing came back")));
    ::close(mute.fd);
}

TEST_F(PeerCheckTest, SomebodyOfAnotherRunIsNoPeer) {
    PeerAnswerer other = answerer("another run's...");
    PeerCheck check({peer(other.port())}, kToken, 10s);
    turn(check, {&other});
    EXPECT_THAT(check.failures(), ElementsAre(HasSubstr("another program answers there")));
}

TEST_F(PeerCheckTest, AnAddressThatIsNoneIsSaid) {
    PeerCheck check({{"node-b", "no address", 1}}, kToken, 10s);
    EXPECT_TRUE(check.done());
    EXPECT_THAT(check.failures(), ElementsAre(HasSubstr("node-b at no address port 1: ")));
}

TEST_F(PeerCheckTest, StrangersWhoSaySomethingElseOrNothingGetNoAnswerAndKeepNobodyOut) {
    PeerAnswerer one = answerer();
    std::vector<int> silent;
    for (int i = 0; i < 400; ++i) silent.push_back(connected(one.port())), one.turn();
    const int liar = connected(one.port());
    ASSERT_EQ(::send(liar, "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
    PeerCheck check({peer(one.port())}, kToken, 10s);
    turn(check, {&one});
    EXPECT_THAT(check.failures(), IsEmpty());
    char answer = 0;
    EXPECT_LE(::recv(liar, &answer, 1, MSG_DONTWAIT), 0) << "it was answered";
    ::close(liar);
    for (const int fd : silent) ::close(fd);
}

TEST(NetworkInterface, IsFoundByNameAndAddressAndIsLoopbackByDefault) {
    EXPECT_EQ(*addressOf(""), "127.0.0.1");
    EXPECT_EQ(*addressOf("lo"), "127.0.0.1");
    EXPECT_EQ(*addressOf("127.0.0.1"), "127.0.0.1");
    EXPECT_FALSE(addressOf("192.0.2.77"));  // for documentation; nobody's
}

TEST(NetworkInterface, ListensOnAPortOfItsOwn) {
    const auto one = listenOn("127.0.0.1"), two = listenOn("127.0.0.1");
    ASSERT_TRUE(one && two);
    EXPECT_GT(one->port, 0);
    EXPECT_NE(one->port, two->port);
    EXPECT_FALSE(listenOn("192.0.2.77"));
    ::close(one->fd);
    ::close(two->fd);
}

TEST(NetworkInterface, IsFoundByWhereItLeads) {
    EXPECT_EQ(*addressTowards("127.0.0.1"), "127.0.0.1");
    EXPECT_THAT(addressTowards("node-b").error().message,
                testing::HasSubstr("no way to node-b"));  // names are not looked up
}

}  // namespace
}  // namespace shardscope::network
