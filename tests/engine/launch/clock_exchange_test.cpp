#include "engine/launch/clock_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace shardscope::launch {
namespace {

TEST(ClockExchange, AsksOneQuestionAfterTheOther) {
    ClockExchange exchange(2);
    EXPECT_FALSE(exchange.done());
    const auto first = exchange.ask(100);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->sentNs, 100);
    EXPECT_FALSE(exchange.ask(105)) << "before the answer";
    exchange.take({100, 1110, 1112}, 122);
    EXPECT_EQ(exchange.aheadNs(), 1000);
    EXPECT_EQ(exchange.errorNs(), 10);
    ASSERT_TRUE(exchange.ask(200));
    EXPECT_FALSE(exchange.done());
    exchange.take({200, 1290, 1290}, 300);  // a longer way
    EXPECT_TRUE(exchange.done());
    EXPECT_FALSE(exchange.ask(400));
    EXPECT_EQ(exchange.aheadNs(), 1000);
    EXPECT_EQ(exchange.errorNs(), 10);
}

TEST(ClockExchange, PassesOverWhatIsNoAnswer) {
    ClockExchange exchange(1);
    exchange.take({0, 5, 5}, 10);
    ASSERT_TRUE(exchange.ask(100));
    exchange.take({99, 500, 500}, 110);
    EXPECT_FALSE(exchange.done());
    exchange.take({100, 500, 400}, 110);  // answered before it was received
    EXPECT_TRUE(exchange.done());
    EXPECT_EQ(exchange.errorNs(), std::numeric_limits<std::int64_t>::max());
}

/// Whatever the way there and back takes, the truth lies within the bound.
TEST(ClockExchange, IsRightWithinItsBound) {
    std::mt19937 random(5);
    const auto draw = [&](std::int64_t most) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
    };
    for (int round = 0; round < 500; ++round) {
        const std::int64_t ahead = draw(2'000'000'000) - 1'000'000'000;
        ClockExchange exchange(8);
        std::int64_t now = draw(1'000'000), shortest = 1 << 30;
        while (const auto asked = exchange.ask(now)) {
            const std::int64_t there = draw(80'000), pause = draw(5'000), back = draw(80'000);
            const std::int64_t received = now + there + ahead;
            now += there + pause + back;
            exchange.take({asked->sentNs, received, received + pause}, now);
            shortest = std::min(shortest, there + back);
        }
        EXPECT_TRUE(exchange.done());
        EXPECT_LE(std::abs(exchange.aheadNs() - ahead), exchange.errorNs());
        EXPECT_EQ(exchange.errorNs(), (shortest + 1) / 2);
    }
}

}  // namespace
}  // namespace shardscope::launch
