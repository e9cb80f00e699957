// Ranks of a run that meet at a table, with strangers around who know the protocol and not the key.
#include "engine/network/keyed_table.h"

#include "engine/network/table_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>
#include <thread>

namespace shardscope::network {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::chrono::minutes kLong{2};

/// A connection of one who need not be a rank.
FileDescriptor connectTo(int port) {
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
        socket.reset();
    return socket;
}

class KeyedTableTest : public testing::Test {
protected:
    std::unique_ptr<KeyedTable> serve(int ranks) {
        const auto listener = listenOn("127.0.0.1");
        EXPECT_TRUE(listener);
        m_port = listener->port;
        auto served = KeyedTable::serve(*listener, m_key, ranks);
        EXPECT_TRUE(served);
        return std::move(*served);
    }
    [[nodiscard]] auto join(int rank, const Key& key, std::chrono::milliseconds patience = kLong) {
        return KeyedTable::join("127.0.0.1", m_port, key, rank, patience);
    }
    [[nodiscard]] std::unique_ptr<KeyedTable> join(int rank) {
        auto joined = join(rank, m_key);
        EXPECT_TRUE(joined) << joined.error().message;
        return std::move(*joined);
    }

    const Key m_key = drawKey();
    int m_port = 0;
};

TEST_F(KeyedTableTest, RanksShareTexts) {
    const auto first = serve(3);
    const auto one = join(1), two = join(2);
    ASSERT_TRUE(one->set("one", "said by 1"));
    EXPECT_EQ(first->get("one", 0ms).value(), "said by 1");
    EXPECT_EQ(two->get("one", 0ms).value(), "said by 1");
    ASSERT_TRUE(first->set("one", std::string("\0\n", 2)));
    EXPECT_EQ(two->get("one", 0ms).value(), std::string("\0\n", 2));
    ASSERT_TRUE(first->set("large", std::string(3'000'000, 'x')));
    EXPECT_EQ(one->get("large", 0ms).value()->size(), 3'000'000u);
}

TEST_F(KeyedTableTest, OneWaitsForATextAsLongAsItLikes) {
    const auto first = serve(2);
    const auto one = join(1);
    EXPECT_EQ(one->get("later", 5ms).value(), std::nullopt);
    auto waits = std::async(std::launch::async, [&] { return one->get("later", kLong); });
    ASSERT_TRUE(first->set("later", "now"));
    EXPECT_EQ(waits.get().value(), "now");
    EXPECT_EQ(first->get("never", 0ms).value(), std::nullopt);
}

TEST_F(KeyedTableTest, WhatTheFirstHasSaidStays) {
    const auto first = serve(2);
    const auto one = join(1);
    EXPECT_EQ(one->setFirst("given up", "by 1").value(), "by 1");
    EXPECT_EQ(first->setFirst("given up", "by 0").value(), "by 1");
    EXPECT_EQ(one->get("given up", 0ms).value(), "by 1");
}

TEST_F(KeyedTableTest, AStrangerIsRefusedAndTheRankStillComes) {
    const auto first = serve(2);
    const auto stranger = join(1, drawKey());
    ASSERT_FALSE(stranger);
    EXPECT_THAT(stranger.error().message, HasSubstr("does not know this run's key"));
    const auto one = join(1);
    ASSERT_TRUE(one->set("here", "rank 1"));
    EXPECT_EQ(first->get("here", 0ms).value(), "rank 1");
}

TEST_F(KeyedTableTest, ARankComesOnceAndHasANumberOfTheRun) {
    const auto first = serve(3);
    const auto one = join(1);
    EXPECT_THAT(join(1, m_key).error().message, HasSubstr("rank 1 is there already"));
    EXPECT_THAT(join(0, m_key).error().message, HasSubstr("rank 0 is there already"));
    EXPECT_THAT(join(3, m_key).error().message, HasSubstr("the run has 3 ranks"));
}

TEST_F(KeyedTableTest, OnceAllAreThereNothingAnswersAndStrangersAreGone) {
    const auto first = serve(2);
    const FileDescriptor early = connectTo(m_port);
    ASSERT_TRUE(early.valid());
    const auto one = join(1);
    char byte = 0;
    EXPECT_LE(::recv(early.get(), &byte, 1, 0), 0) << "it waits for the end of the connection";
    EXPECT_FALSE(connectTo(m_port).valid());
    EXPECT_FALSE(join(1, m_key));
    ASSERT_TRUE(one->set("still", "there"));
    EXPECT_EQ(first->get("still", 0ms).value(), "there");
}

TEST_F(KeyedTableTest, SilentStrangersKeepNoRankOut) {
    const auto first = serve(2);
    std::vector<FileDescriptor> strangers;
    for (int i = 0; i < 600; ++i) strangers.push_back(connectTo(m_port));
    ASSERT_TRUE(join(1)->set("here", "rank 1"));
}

TEST_F(KeyedTableTest, WhatIsNoTableIsNotWaitedForWithoutEnd) {
    const auto silent = listenOn("127.0.0.1");
    ASSERT_TRUE(silent);
    const FileDescriptor listener(silent->fd);
    m_port = silent->port;
    const auto joined = join(1, m_key, 50ms);
    ASSERT_FALSE(joined);
    EXPECT_THAT(joined.error().message, HasSubstr("timeout"));
}

TEST_F(KeyedTableTest, RanksHearThatRankZeroIsGone) {
    auto first = serve(2);
    const auto one = join(1);
    auto waits = std::async(std::launch::async, [&] { return one->get("never", kLong); });
    first.reset();
    const auto answer = waits.get();
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().message, HasSubstr("rank 0"));
    EXPECT_FALSE(one->set("more", "of it"));
}

// A guest's bytes, one changed.

/// All that a true rank says up to and with a request.
struct Talk {
    Talk() : key(drawKey()), guest(key) {}

    bool take(std::string_view text) {
        return guest.take(std::as_bytes(std::span(text)), [](int) { return std::string(); });
    }
    std::string heard() { return std::exchange(guest.output(), {}); }
    /// Welcomed as `rank`.
    SealPair meet(int rank) {
        JoiningHandshake joins(key, rankHello(rank));
        EXPECT_TRUE(take(joins.hello() + '\n'));
        std::string line = heard();
        line.pop_back();
        EXPECT_TRUE(take(joins.prove(line).value() + '\n'));
        line = heard();
        line.pop_back();
        EXPECT_EQ(joins.hear(line).verdict, JoiningHandshake::Verdict::kWelcome);
        return joins.seals();
    }

    Key key;
    TableGuest guest;
};

const TableRequest kRequest{TableRequest::Kind::kSet, 0, "given up", "by rank 1"};

std::string recordOf(const TableRequest& request, Seal& seal) {
    const auto bytes = sealedRecord(encode(request), seal);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(TableGuest, AChangedBitEndsTheConnection) {
    Talk whole;
    SealPair seals = whole.meet(1);
    ASSERT_TRUE(whole.take(recordOf(kRequest, seals.out)));
    EXPECT_EQ(whole.guest.next().value(), kRequest);
    // Not of the length, of which more would be waited for.
    for (std::size_t bit = 32; bit < 8 * recordOf(kRequest, seals.out).size(); ++bit) {
        Talk talk;
        seals = talk.meet(1);
        std::string record = recordOf(kRequest, seals.out);
        record[bit / 8] = static_cast<char>(record[bit / 8] ^ (1 << bit % 8));
        static_cast<void>(talk.take(record));
        EXPECT_FALSE(talk.guest.next()) << "bit " << bit;
    }
}

TEST(TableGuest, ASecondTimeOrOutOfTurnIsNotHeard) {
    Talk talk;
    SealPair seals = talk.meet(1);
    const std::string first = recordOf(kRequest, seals.out);
    ASSERT_TRUE(talk.take(first + first));
    EXPECT_EQ(talk.guest.next().value(), kRequest);
    EXPECT_FALSE(talk.guest.next());
    Talk other;
    seals = other.meet(1);
    static_cast<void>(recordOf(kRequest, seals.out));
    static_cast<void>(other.take(recordOf(kRequest, seals.out)));
    EXPECT_FALSE(other.guest.next()) << "the first was left out";
}

TEST(TableGuest, LinesOfStrangersProveNothing) {
    for (const std::string text :
         {"GET / HTTP/1.1\n", "\n", "shardscope-ranks 1 -1 x\n", "shardscope-ranks 1 1\n"}) {
        Talk talk;
        EXPECT_FALSE(talk.take(text)) << text;
    }
    Talk endless;
    EXPECT_FALSE(endless.take(std::string(100'000, 'a')));
    Talk wrong;
    ASSERT_TRUE(wrong.take(rankHello(1) + '\n'));
    EXPECT_FALSE(wrong.take("proof " + std::string(64, 'a') + '\n'));
    EXPECT_THAT(wrong.heard(), HasSubstr("unproved"));
    EXPECT_FALSE(wrong.guest.proven());
}

}  // namespace
}  // namespace shardscope::network
