// Help of every verb: within 100 columns, grouped, and whole where it is asked for.
#include "app/cli/console.h"
#include "engine/run/config/run_option.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace shardscope::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class Help : public CliTest {
protected:
    std::string helpOf(const std::vector<std::string>& arguments) {
        auto program = start(arguments);
        EXPECT_EQ(program->wait(), 0);
        return program->out();
    }
    static std::size_t longestLine(const std::string& text) {
        std::size_t longest = 0;
        std::istringstream in(text);
        for (std::string line; std::getline(in, line);) longest = std::max(longest, line.size());
        return longest;
    }
};

TEST_F(Help, OfEveryVerbFitsAHundredColumns) {
    for (const char* verb :
         {"record", "attach", "import", "report", "analyze", "compare", "verify", "info", "query",
          "repair", "export", "tokenize", "plan", "bench", "doctor"}) {
        EXPECT_LE(longestLine(helpOf({verb, "--help"})), 100u) << verb;
    }
    EXPECT_LE(longestLine(helpOf({"record", "--help-all"})), 100u);
    EXPECT_LE(longestLine(helpOf({"--help"})), 100u);
}

TEST_F(Help, OfRecordHasTheSectionsOfTheFormAndDefaults) {
    const std::string text = helpOf({"record", "--help"});
    for (const auto& section : kWords<run::OptionSection>)
        if (section.common) {
            EXPECT_THAT(text, HasSubstr(std::string("\n") + section.word + ":\n"));
        }
    EXPECT_THAT(text, HasSubstr("number of optimizer steps [40]"));
    EXPECT_THAT(text, HasSubstr("-o, --output FILE"));
    EXPECT_THAT(text, HasSubstr("more options: shardscope record --help-all"));
    EXPECT_THAT(text, Not(HasSubstr("--vocabulary-pieces")));
}

TEST_F(Help, WholeNamesEveryFlag) {
    const std::string text = helpOf({"record", "--help-all"});
    for (const run::RunOption& option : run::runOptions()) {
        std::string flag = option.flag;
        if (flag.starts_with("--no-")) flag = "--[no-]" + flag.substr(5);
        EXPECT_THAT(text, HasSubstr(flag));
    }
    EXPECT_THAT(text, Not(HasSubstr("more options")));
}

TEST_F(Help, AWrongOptionPointsToItsVerb) {
    auto program = start({"report", "run.sscope", "--jsno"});
    EXPECT_EQ(program->wait(), 2);
    EXPECT_THAT(program->err(), HasSubstr("did you mean --json?"));
    EXPECT_THAT(program->err(), HasSubstr("Run 'shardscope report --help'"));
}

TEST_F(Help, OfImportNamesWhatItReads) {
    const std::string text = helpOf({"import", "--help"});
    for (const char* format : {"Kineto", "Nsight Systems", "Perfetto", "snapshots", "folded"})
        EXPECT_THAT(text, HasSubstr(format));
}

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
