#include "app/cli/console.h"

#include <gtest/gtest.h>

namespace shardscope::cli {
namespace {

TEST(Fitted, CutsByColumnsNotByBytes) {
    EXPECT_EQ(fitted("step 3/40  loss 2.1", 9), "step 3/40");
    EXPECT_EQ(fitted("größer", 4), "größ");
    EXPECT_EQ(fitted("short", 40), "short");
}

TEST(Wrapped, LeavesShortLinesAsTheyAre) {
    const std::string text = "one\n\n  two three\n";
    EXPECT_EQ(wrapped(text, 40), text);
    EXPECT_EQ(wrapped("no end", 40), "no end");
}

TEST(Wrapped, BreaksAtSpacesAndIndentsTheRest) {
    EXPECT_EQ(wrapped("the quick brown fox jumps over the dog\n", 20),
              "the quick brown fox\n  jumps over the dog\n");
    EXPECT_EQ(wrapped("  a            bbbb cccc dddd eeee\n", 20),
              "  a            bbbb\n    cccc dddd eeee\n");
}

TEST(Wrapped, CutsWhatHasNoSpace) {
    EXPECT_EQ(wrapped("abcdefghijklmnopqrstuvwxyz\n", 20), "abcdefghijklmnopqrst\n  uvwxyz\n");
}

TEST(Wrapped, NoLineIsWider) {
    const std::string text =
        "Communication\n  operation      cause     calls  bytes       bus bandwidth    waiting\n"
        "  all-gather     demand    1,234  120.5 MiB   1.23 GB/s – of 4  98.7 ms\n\nend";
    for (int columns = 20; columns < 90; ++columns) {
        std::size_t width = 0;
        for (const char c : wrapped(text, columns)) {
            if (c == '\n')
                width = 0;
            else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80)
                ++width;
            EXPECT_LE(width, static_cast<std::size_t>(columns));
        }
    }
}

}  // namespace
}  // namespace shardscope::cli
