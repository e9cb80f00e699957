#include "engine/launch/tasks/task_words.h"

#include <gmock/gmock.h>

#include <random>

namespace shardscope::launch {
namespace {

TaskSecret secretOf(const std::string& identity) {
    return TaskSecret::of(identity).value();
}

const TaskHello kHello{false, 5, 8, "group 1", "node-a", "0-3,8", "shardscope 1.2 (abc)"};

std::string lineOf(const TaskSecret& secret, const TaskHello& hello) {
    std::string line = helloLine(secret, hello);
    EXPECT_EQ(line.back(), '\n');
    line.pop_back();
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_LE(line.size(), kLongestTaskLine);
    return line;
}

TEST(TaskWords, AHelloComesBackAsItWasSaid) {
    const TaskSecret secret = secretOf("run 7");
    TaskHello agent = kHello;
    agent.agent = true;
    for (const TaskHello& hello : {kHello, agent}) {
        const auto back = parseHello(secret, lineOf(secret, hello));
        ASSERT_TRUE(back.has_value());
        EXPECT_EQ(*back, hello);
    }
}

TEST(TaskWords, NamesCannotBreakTheLine) {
    const TaskSecret secret = secretOf("run 7");
    TaskHello hello = kHello;
    hello.host = "node\n\tb" + std::string(5000, 'x');
    const auto back = parseHello(secret, lineOf(secret, hello));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->host.substr(0, 8), "node  bx");
    EXPECT_EQ(back->product, kHello.product);
}

TEST(TaskWords, SecretsOfRunsDiffer) {
    const TaskSecret one = secretOf("run 7"), other = secretOf("run 8");
    EXPECT_EQ(one.task, secretOf("run 7").task);
    EXPECT_NE(one.task, other.task);
    EXPECT_NE(one.task, one.first);
    EXPECT_NE(one.task, one.place);
    EXPECT_EQ(one.task.size(), 64u);
    EXPECT_FALSE(parseHello(other, lineOf(one, kHello)).has_value());
}

TEST(TaskWords, ATokenIsPartOfWhatIsProvedOnly) {
    const TaskSecret none = secretOf("run 7");
    const TaskSecret one = TaskSecret::of("run 7", "a secret").value();
    EXPECT_NE(one.task, none.task);
    EXPECT_NE(one.first, none.first);
    EXPECT_EQ(one.run, none.run);
    EXPECT_EQ(one.place, none.place);
    EXPECT_NE(one.run, secretOf("run 8").run);
    EXPECT_NE(TaskSecret::of("run 7", "x").value().task, TaskSecret::of("run 7x").value().task);
    const std::string line = lineOf(one, kHello);
    EXPECT_FALSE(parseHello(none, line).has_value());
    const auto strange = parseStrange(line);
    ASSERT_TRUE(strange.has_value());
    EXPECT_EQ(strange->hello, kHello);
    EXPECT_EQ(strange->run, none.run);
}

TEST(TaskWords, WhatAStrangerSaysIsNoHello) {
    const TaskSecret secret = secretOf("run 7");
    for (const std::string& line :
         {std::string(), std::string("GET / HTTP/1.1"), secret.first, secret.task,
          secret.task + "\ttask\t1", secret.task + "\ttask\t-1\t2\tn\th\t0\tp",
          secret.task + "\ttask\t1\tx\tn\th\t0\tp", secret.task + "\ttask\t1\t2\t\th\t0\tp"})
        EXPECT_FALSE(parseHello(secret, line).has_value()) << line;
}

TEST(TaskWords, WhatIsTakenOfDamagedLinesIsWhole) {
    const TaskSecret secret = secretOf("run 7");
    std::mt19937 random(1);  // NOLINT: the same each time
    const std::string good = lineOf(secret, kHello);
    for (int round = 0; round < 20'000; ++round) {
        std::string line = good.substr(0, random() % (good.size() + 1));
        for (unsigned i = 0; i < random() % 4 && line.size() > 64; ++i)
            line[64 + random() % (line.size() - 64)] = static_cast<char>(random());
        const auto hello = parseHello(secret, line);
        if (!hello) continue;
        EXPECT_GE(hello->rank, 0);
        EXPECT_FALSE(hello->node.empty());
        EXPECT_TRUE(parseHello(secret, lineOf(secret, *hello)).has_value());
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
