// Encrypted messages on a wire that is in the hands of an attacker.
#include "engine/comm/proved_mesh.h"
#include "tests/engine/comm/host_ranks.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <tuple>

namespace shardscope {
namespace {

using comm::TransferError;

constexpr std::chrono::minutes kNeverReached{4};
constexpr std::uint32_t kTag = 7;

/// What is on its way: by sender, receiver and tag.
using Place = std::tuple<int, int, std::uint32_t>;
using Wire = std::map<Place, std::deque<std::string>>;

class Delivered final : public comm::Transfer {
public:
    explicit Delivered(std::function<void()> deliver) : m_deliver(std::move(deliver)) {}
    void wait(std::chrono::milliseconds) override { m_deliver(); }

private:
    const std::function<void()> m_deliver;
};

class WireMesh final : public comm::Mesh {
public:
    WireMesh(Wire& wire, int rank, int size) : m_wire(wire), m_rank(rank), m_size(size) {}
    int rank() const override { return m_rank; }
    int size() const override { return m_size; }
    std::unique_ptr<comm::Transfer> send(const void* from, std::size_t bytes, int to,
                                         std::uint32_t tag) override {
        m_wire[{m_rank, to, tag}].emplace_back(static_cast<const char*>(from), bytes);
        return std::make_unique<Delivered>([] {});
    }
    std::unique_ptr<comm::Transfer> receive(void* to, std::size_t bytes, int from,
                                            std::uint32_t tag) override {
        std::deque<std::string>& queue = m_wire[{from, m_rank, tag}];
        return std::make_unique<Delivered>([to, bytes, &queue] {
            ASSERT_FALSE(queue.empty());
            ASSERT_EQ(queue.front().size(), bytes);
            std::memcpy(to, queue.front().data(), bytes);
            queue.pop_front();
        });
    }
    void close() override {}

private:
    Wire& m_wire;
    const int m_rank, m_size;
};

class EncryptedMesh : public testing::Test {
protected:
    /// Ranks 0 to 2, with keys as proveRanks() gives them.
    EncryptedMesh() {
        std::map<std::pair<int, int>, network::Key> keys;
        for (int from = 0; from < 3; ++from)
            for (int to = 0; to < 3; ++to) keys[{from, to}] = network::drawKey();
        for (int rank = 0; rank < 3; ++rank) {
            std::vector<comm::PairKeys> own;
            for (int peer = 0; peer < 3; ++peer)
                own.push_back({keys[{rank, peer}], keys[{peer, rank}]});
            m_ranks.push_back(comm::encrypted(std::make_shared<WireMesh>(m_wire, rank, 3), own));
        }
    }

    void say(const std::string& text, int from = 0, int to = 1, std::uint32_t tag = kTag) {
        m_ranks[static_cast<std::size_t>(from)]
            ->send(text.data(), text.size(), to, tag)
            ->wait(kNeverReached);
    }
    /// What rank `to` takes it for; "refused", which leaves nothing of it in its memory.
    std::string hear(std::size_t bytes, int to = 1, int from = 0, std::uint32_t tag = kTag) {
        std::string heard(bytes, '?');
        const auto message =
            m_ranks[static_cast<std::size_t>(to)]->receive(heard.data(), bytes, from, tag);
        try {
            message->wait(kNeverReached);
        } catch (const TransferError& error) {
            EXPECT_EQ(error.kind(), TransferError::Kind::kAltered);
            EXPECT_EQ(heard, std::string(bytes, '\0'));
            return "refused";
        }
        return heard;
    }
    std::deque<std::string>& wire(int from = 0, int to = 1, std::uint32_t tag = kTag) {
        return m_wire[{from, to, tag}];
    }

    Wire m_wire;
    std::vector<std::shared_ptr<comm::Mesh>> m_ranks;
};

TEST_F(EncryptedMesh, MessagesArriveAsTheyWereSent) {
    const std::string large(1'000'003, 'x');
    say("one");
    say(large);
    say("back", 1, 0);
    say("other tag", 0, 1, 8);
    EXPECT_EQ(hear(3), "one");
    EXPECT_EQ(hear(large.size()), large);
    EXPECT_EQ(hear(9, 1, 0, 8), "other tag");
    EXPECT_EQ(hear(4, 0, 1), "back");
}

TEST_F(EncryptedMesh, TheSameIsNeverTheSameOnTheWire) {
    const std::string zeros(64, '\0');
    std::set<std::string> seen;
    for (const std::uint32_t tag : {1u, 2u}) {
        for (int i = 0; i < 3; ++i) {
            say(zeros, 0, 1, tag);
            say(zeros, 1, 0, tag);
            say(zeros, 0, 2, tag);
        }
        for (const auto& [from, to] : {std::pair(0, 1), {1, 0}, {0, 2}})
            for (const std::string& each : wire(from, to, tag)) seen.insert(each.substr(0, 16));
    }
    EXPECT_EQ(seen.size(), 18u) << "blocks of one key stream, used twice";
    EXPECT_EQ(seen.count(std::string(16, '\0')), 0u);
}

TEST_F(EncryptedMesh, NoBitCanBeChanged) {
    const std::string text = "gradients";
    for (std::size_t bit = 0; bit < 8 * (text.size() + 16); ++bit) {
        const auto tag = static_cast<std::uint32_t>(bit);
        say(text, 0, 1, tag);
        std::string& sent = wire(0, 1, tag).front();
        ASSERT_EQ(sent.size(), text.size() + 16);
        sent[bit / 8] = static_cast<char>(sent[bit / 8] ^ (1 << bit % 8));
        EXPECT_EQ(hear(text.size(), 1, 0, tag), "refused") << "bit " << bit;
    }
}

TEST_F(EncryptedMesh, NothingComesTwiceOrIsLeftOut) {
    say("one");
    wire().push_back(wire().front());
    EXPECT_EQ(hear(3), "one");
    EXPECT_EQ(hear(3), "refused") << "again";
    say("two", 0, 1, 8);
    say("six", 0, 1, 8);
    wire(0, 1, 8).pop_front();
    EXPECT_EQ(hear(3, 1, 0, 8), "refused") << "the first is missing";
    say("two", 0, 1, 9);
    say("six", 0, 1, 9);
    std::swap(wire(0, 1, 9)[0], wire(0, 1, 9)[1]);
    EXPECT_EQ(hear(3, 1, 0, 9), "refused") << "out of order";
}

TEST_F(EncryptedMesh, NothingFitsAnotherPlace) {
    say("one");
    wire(0, 1, 8).push_back(wire().front());
    EXPECT_EQ(hear(3, 1, 0, 8), "refused") << "moved to another tag";
    wire(1, 0).push_back(wire().front());
    EXPECT_EQ(hear(3, 0, 1), "refused") << "given back to its sender";
    wire(0, 2).push_back(wire().front());
    EXPECT_EQ(hear(3, 2, 0), "refused") << "given to another";
    wire(2, 1).push_back(wire().front());
    EXPECT_EQ(hear(3, 1, 2), "refused") << "as another's";
    EXPECT_EQ(hear(3), "one");
}

/// One end encrypts, the other shows what comes.
TEST_F(EncryptedMesh, GlooCarriesNothingElse) {
    if (!comm::hasGloo()) GTEST_SKIP() << "built without Gloo";
    const auto listener = network::listenOn("127.0.0.1");
    ASSERT_TRUE(listener);
    const auto mesh = [&](int rank, bool encrypt) {
        return comm::makeGlooMesh(
            {.world = comm::WorldMeeting{rank, 2, "127.0.0.1", listener->port, listener->fd},
             .encrypt = encrypt});
    };
    auto first = std::async(std::launch::async, [&] { return mesh(0, true); });
    const auto plain = mesh(1, false);
    const std::string said = "gradients";
    const auto encrypts = first.get();
    std::string heard(said.size() + 16, '?');
    const auto received = plain->receive(heard.data(), heard.size(), 0, kTag);
    encrypts->send(said.data(), said.size(), 1, kTag)->wait(kNeverReached);
    received->wait(kNeverReached);
    EXPECT_NE(heard, std::string(heard.size(), '?'));
    EXPECT_NE(heard.substr(0, said.size()), said);
}

TEST_F(EncryptedMesh, RanksOverGlooSumAsWithoutIt) {
    if (!comm::hasGloo()) GTEST_SKIP() << "built without Gloo";
    test::HostRanks ranks({2, 2});
    ranks.encrypt();
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks.size(); ++rank) {
        threads.emplace_back([&, rank] {
            const auto c = ranks.join(rank);
            const comm::SymmetricBuffer row = c->allocate(100'003, DataType::kFloat32);
            auto* values = static_cast<float*>(row.local);
            for (std::size_t i = 0; i < row.count; ++i)
                values[i] = static_cast<float>(rank) + static_cast<float>(i % 100);
            c->allReduce(row, {}).wait();
            for (std::size_t i = 0; i < row.count; ++i)
                ASSERT_EQ(values[i], 6 + 4 * static_cast<float>(i % 100)) << i;
            c->barrier({}).wait();
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace shardscope
