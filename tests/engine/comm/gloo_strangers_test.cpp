// Ranks that meet over a network with strangers on it, who reach every port and lack the run's key.
#include "engine/comm/proved_mesh.h"
#include "tests/engine/comm/host_ranks.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstdint>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace shardscope {
namespace {

using network::Key;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

/// Ranks as threads that swap texts, and what is put in on the way.
class Wires {
public:
    using Change = std::function<void(std::vector<Texts>& byFromAndTo, int round)>;

    explicit Wires(int ranks) : m_ranks(ranks), m_said(at(ranks)), m_met(ranks) {}

    /// What each rank fails with; empty: it takes the others for ranks of its run.
    std::vector<std::string> prove(const std::vector<Key>& keys, const Change& change = {}) {
        std::vector<std::string> errors(at(m_ranks));
        m_keys.resize(at(m_ranks));
        std::vector<std::thread> threads;
        for (int rank = 0; rank < m_ranks; ++rank)
            threads.emplace_back([&, rank, round = 0]() mutable {
                try {
                    m_keys[at(rank)] = comm::proveRanks(
                        keys[at(rank)], rank, m_ranks,
                        [&](const Texts& said) { return swap(rank, said, change, round++); });
                } catch (const comm::CommunicationError& error) {
                    errors[at(rank)] = error.what();
                }
            });
        for (std::thread& thread : threads) thread.join();
        return errors;
    }
    [[nodiscard]] const comm::PairKeys& keys(int rank, int peer) const {
        return m_keys[at(rank)][at(peer)];
    }

private:
    static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
    Texts swap(int rank, const Texts& said, const Change& change, int round) {
        m_said[at(rank)] = said;
        m_met.arrive_and_wait();
        if (rank == 0 && change) change(m_said, round);
        m_met.arrive_and_wait();
        Texts heard;
        for (int from = 0; from < m_ranks; ++from) heard.push_back(m_said[at(from)][at(rank)]);
        m_met.arrive_and_wait();
        return heard;
    }

    const int m_ranks;
    std::vector<Texts> m_said;
    std::barrier<> m_met;
    std::vector<std::vector<comm::PairKeys>> m_keys;
};

TEST(RankProof, RanksOfARunShareKeysThatAreEachPairsAndDirectionsOwn) {
    Wires wires(3);
    EXPECT_EQ(wires.prove(std::vector<Key>(3, network::drawKey())), Texts(3));
    std::set<Key> different;
    for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) {
            if (a == b) continue;
            EXPECT_EQ(wires.keys(a, b).out, wires.keys(b, a).in);
            different.insert(wires.keys(a, b).out);
        }
    }
    EXPECT_EQ(different.size(), 6u);
}

TEST(RankProof, KeysAreNeverUsedTwice) {
    const std::vector<Key> keys(2, network::drawKey());
    Wires once(2), again(2);
    static_cast<void>(once.prove(keys));
    static_cast<void>(again.prove(keys));
    EXPECT_NE(once.keys(0, 1).out, again.keys(0, 1).out);
}

TEST(RankProof, AStrangerIsNamedByTheRankWhosePlaceItTook) {
    const Key key = network::drawKey();
    const auto errors = Wires(3).prove({key, network::drawKey(), key});
    EXPECT_THAT(errors[0], HasSubstr("connected to rank 0 in place of rank 1 does not know"));
    EXPECT_THAT(errors[2], HasSubstr("connected to rank 2 in place of rank 1 does not know"));
}

TEST(RankProof, ARanksOwnWordsProveNothingToIt) {
    const auto errors =
        Wires(2).prove(std::vector<Key>(2, network::drawKey()),
                       [](std::vector<Texts>& said, int) { said[1][0] = said[0][1]; });
    EXPECT_THAT(errors[0], HasSubstr("in place of rank 1"));
}

TEST(RankProof, AnotherPairsOrAnEarlierProofProvesNothing) {
    const std::vector<Key> keys(3, network::drawKey());
    const auto moved =
        Wires(3).prove(keys, [](std::vector<Texts>& said, int) { said[1][0] = said[1][2]; });
    EXPECT_THAT(moved[0], HasSubstr("in place of rank 1"));
    std::array<std::string, 2> earlier;
    EXPECT_EQ(Wires(3).prove(keys,
                             [&](std::vector<Texts>& said, int round) {
                                 earlier[static_cast<std::size_t>(round)] = said[1][0];
                             }),
              Texts(3));
    const auto replayed = Wires(3).prove(keys, [&](std::vector<Texts>& said, int round) {
        said[1][0] = earlier[static_cast<std::size_t>(round)];
    });
    EXPECT_THAT(replayed[0], HasSubstr("in place of rank 1"));
}

// Over Gloo.

class GlooStrangers : public testing::Test {
protected:
    void SetUp() override {
        if (!comm::hasGloo()) GTEST_SKIP() << "built without Gloo";
    }

    static std::uint16_t portOf(int listener) {
        sockaddr_in at{};
        socklen_t size = sizeof at;
        ::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size);
        return at.sin_port;
    }
    /// Nothing: no answer came within the time that one on loopback takes many times over.
    static std::optional<int> connectTo(std::uint16_t port) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        at.sin_port = port;
        ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at);
        pollfd ready{fd, POLLOUT, 0};
        int error = 0;
        socklen_t size = sizeof error;
        if (::poll(&ready, 1, 300) == 1 &&
            ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
            return fd;
        ::close(fd);
        return std::nullopt;
    }
    /// Those of this process that were not there before.
    [[nodiscard]] std::vector<int> newListeners() const {
        return network::listenersSince(m_before);
    }

    using Meeting = std::future<std::shared_ptr<comm::Mesh>>;
    static Meeting meet(const test::HostRanks& ranks, int rank, std::chrono::milliseconds timeout) {
        return std::async(std::launch::async,
                          [&ranks, rank, timeout] { return ranks.mesh(rank, timeout); });
    }

    const std::vector<network::OwnListener> m_before = network::ownListeners();
};

TEST_F(GlooStrangers, OnceRanksHaveMetNoPortAnswersAndMessagesGoOn) {
    const test::HostRanks ranks({1, 1});
    Meeting first = meet(ranks, 0, std::chrono::minutes(4));
    const auto one = ranks.mesh(1, std::chrono::minutes(4));
    const auto zero = first.get();
    EXPECT_EQ(newListeners().size(), 2u) << "Gloo's own; that of the meeting is closed";
    for (const int each : newListeners()) EXPECT_EQ(connectTo(portOf(each)), std::nullopt);
    const std::string said(1000, 'x');
    std::string heard(1000, ' ');
    const auto received = one->receive(heard.data(), heard.size(), 0, 2);
    zero->send(said.data(), said.size(), 1, 2)->wait(std::chrono::minutes(4));
    received->wait(std::chrono::minutes(4));
    EXPECT_EQ(heard, said);
}

/// Gloo's port takes whichever end comes first and says a pair's number. Which of two ranks is
/// connected to by the other depends on their ports, so that it takes some tries.
TEST_F(GlooStrangers, OneThatComesBeforeARankDoesNotBecomeIt) {
    constexpr int kTries = 40;
    std::string refusal;
    for (int attempt = 0; attempt < kTries && refusal.empty(); ++attempt) {
        const test::HostRanks ranks({1, 1});
        const std::vector<int> meeting = newListeners();
        Meeting first = meet(ranks, 0, std::chrono::seconds(2));
        while (newListeners().size() == meeting.size() &&
               first.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
        }
        std::vector<int> strangers;
        for (const int each : newListeners()) {
            if (std::find(meeting.begin(), meeting.end(), each) != meeting.end()) continue;
            for (std::uint64_t pair = 0; pair < 4; ++pair) {
                const auto fd = connectTo(portOf(each));
                ASSERT_TRUE(fd);
                strangers.push_back(*fd);
                ASSERT_EQ(::send(*fd, &pair, sizeof pair, MSG_NOSIGNAL), ssize_t{sizeof pair});
            }
        }
        Meeting second = meet(ranks, 1, std::chrono::seconds(2));
        for (Meeting* each : {&first, &second}) {
            try {
                static_cast<void>(each->get());
            } catch (const comm::CommunicationError& error) {
                if (each == &first) refusal = error.what();
            }
        }
        for (const int fd : strangers) ::close(fd);
    }
    EXPECT_THAT(refusal, HasSubstr("what is connected to rank 0 as rank 1 has not proved for 2 s "
                                   "that it knows the run's key"));
}

}  // namespace
}  // namespace shardscope
