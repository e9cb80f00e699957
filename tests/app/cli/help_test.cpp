// Help of every verb: within 100 columns, grouped, and whole where it is asked for.
#include "engine/run/config/run_option.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>

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
    for (const char* verb : {"record", "import", "report", "analyze", "compare", "verify", "info",
                             "query", "repair", "export", "tokenize", "plan", "bench", "doctor"}) {
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

}  // namespace
}  // namespace shardscope::cli
