#include "engine/launch/tasks/task_handshake.h"

#include <gmock/gmock.h>

#include <random>

namespace shardscope::launch {
namespace {

const TaskHello kHello{false,  5,           8, "group 1", "node-a", "0-3,8", "shardscope 1.2 (abc)",
                       "run7", "0123456789"};

TEST(TaskWords, AHelloComesBackAsItWasSaid) {
    TaskHello agent = kHello;
    agent.agent = true;
    for (const TaskHello& hello : {kHello, agent}) {
        const std::string line = helloLine(hello);
        EXPECT_EQ(line.find('\n'), line.npos);
        EXPECT_LE(line.size(), kLongestTaskLine);
        const auto back = parseHello(line);
        ASSERT_TRUE(back.has_value());
        EXPECT_EQ(*back, hello);
    }
}

TEST(TaskWords, NamesCannotBreakTheLine) {
    TaskHello hello = kHello;
    hello.host = "node\n\tb\x7f" + std::string(5000, 'x');
    const auto back = parseHello(helloLine(hello));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->host.substr(0, 9), "node  b?x");
    EXPECT_EQ(back->product, kHello.product);
}

TEST(TaskWords, WhatIsNotAHelloOfThisVersionIsNone) {
    const std::string good = helloLine(kHello);
    std::string other = good;
    other.replace(other.find(" 2\t"), 2, " 1");
    std::string role = good;
    role.replace(role.find("task\t"), 4, "boss");
    for (const std::string& line :
         {std::string(), std::string("GET / HTTP/1.1"), other, role, good + "\tmore",
          good.substr(0, good.rfind('\t')), std::string(9, '\t')})
        EXPECT_FALSE(parseHello(line).has_value()) << line;
}

TEST(TaskWords, WhatIsTakenOfDamagedLinesIsWhole) {
    std::mt19937 random(1);  // NOLINT: the same each time
    const std::string good = helloLine(kHello);
    for (int round = 0; round < 20'000; ++round) {
        std::string line = good.substr(0, random() % (good.size() + 1));
        for (unsigned i = 0; i < random() % 4 && !line.empty(); ++i)
            line[random() % line.size()] = static_cast<char>(random());
        const auto hello = parseHello(line);
        if (!hello) continue;
        EXPECT_GE(hello->rank, 0);
        EXPECT_FALSE(hello->node.empty());
        EXPECT_EQ(parseHello(helloLine(*hello)), hello);
    }
}

TEST(TaskWords, WhatFollowsAWord) {
    EXPECT_EQ(after("end 3", "end"), "3");
    EXPECT_EQ(after("end", "end"), std::nullopt);
    EXPECT_EQ(after("ending 3", "end"), std::nullopt);
    EXPECT_EQ(after("end ", "end"), "");
}

}  // namespace
}  // namespace shardscope::launch
