#include "app/desktop/widgets/text_label.h"

#include "app/desktop/widgets/axis.h"

#include <gtest/gtest.h>

#include <random>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

TEST(Breakable, BreaksLongNamesAndNoNumbers) {
    EXPECT_EQ(breakable(u"a::b<c,d>"_s), u"a:\u200B:\u200Bb<\u200Bc,\u200Bd>"_s);
    EXPECT_EQ(breakable(u"of 40,573 events, all"_s), u"of 40,573 events,\u200B all"_s);
    EXPECT_EQ(breakable(u"17:05"_s), u"17:05"_s);
}

TEST(Unbroken, KeepsRangesOfNumbersTogether) {
    EXPECT_EQ(unbroken(u"steps 0–39."_s), u"steps 0–\u206039."_s);
    EXPECT_EQ(unbroken(u"0.1 s – 0.9 s"_s), u"0.1 s – 0.9 s"_s);
    EXPECT_EQ(unbroken(u"–1"_s), u"–1"_s);
}

TEST(SpreadWords, LeavesThoseThatHaveRoom) {
    std::vector<WordPlace> words{{10, 20}, {60, 20}};
    spreadWords(words, 0, 100);
    EXPECT_EQ(words[0].left, 10);
    EXPECT_EQ(words[1].left, 60);
}

TEST(SpreadWords, PushesTheFirstBackWhereTheLastWouldLeave) {
    std::vector<WordPlace> words{{50, 40}, {80, 40}};
    spreadWords(words, 0, 100);
    EXPECT_EQ(words[0].left, 12);
    EXPECT_EQ(words[1].right(), 100);
}

TEST(SpreadWords, NeverOverlapsNorLeavesTheLine) {
    std::mt19937 random(7);
    for (int round = 0; round < 2'000; ++round) {
        std::uniform_real_distribution<double> at(-20, 220), wide(5, 80);
        std::vector<double> marks(random() % 5);
        for (double& mark : marks) mark = at(random);
        std::sort(marks.begin(), marks.end());
        std::vector<WordPlace> words;
        for (const double mark : marks) {
            const double width = wide(random);
            words.push_back({mark - width / 2, width});
        }
        const auto before = words;
        spreadWords(words, 0, 200);
        ASSERT_LE(words.size(), before.size());
        double needed = -8;
        for (const WordPlace& word : before) needed += word.width + 8;
        ASSERT_TRUE(needed > 200 || words.size() == before.size());
        double free = 0;
        for (const WordPlace& word : words) {
            ASSERT_GE(word.left, free - 1e-9);
            free = word.right() + 8;
            ASSERT_LE(word.right(), 200 + 1e-9);
        }
    }
}

}  // namespace
}  // namespace shardscope::desktop
