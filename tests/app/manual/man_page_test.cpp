// Manual pages: what is in them, and that the formatter reads them without a word.
#include "app/manual/man_page.h"

#include "app/cli/cli_help.h"
#include "app/cli/root_command.h"
#include "engine/run/config/run_option.h"
#include "tests/support/temporary_folder.h"

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace shardscope::manual {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Program program() {
    CLI::App root;
    const auto commands = cli::addCommands(root);
    return cli::programHelp(root);
}

const ManPage& pageOf(const std::vector<ManPage>& pages, const std::string& file) {
    for (const ManPage& each : pages)
        if (each.file == file) return each;
    throw std::out_of_range(file);
}

std::string outputOf(const std::string& command) {
    std::string text;
    FILE* pipe = ::popen(command.c_str(), "r");
    std::array<char, 4096> part{};
    while (std::fgets(part.data(), static_cast<int>(part.size()), pipe) != nullptr)
        text += part.data();
    ::pclose(pipe);
    return text;
}

TEST(ManPages, OneOfTheProgramAndOfEachVerb) {
    const Program all = program();
    const auto pages = manPages(all, {"shardscope-desktop(1)"});
    EXPECT_EQ(pages.size(), all.verbs.size() + 1);
    const std::string& whole = pageOf(pages, "shardscope.1").text;
    for (const Verb& verb : all.verbs) EXPECT_THAT(whole, HasSubstr("\\-" + verb.name + "\\fR(1)"));
    EXPECT_THAT(whole, HasSubstr(".BR shardscope\\-desktop (1)"));
    EXPECT_THAT(whole, HasSubstr(".SH \"EXAMPLES\""));
    EXPECT_THAT(whole, Not(HasSubstr("agent"))) << "a hidden verb";
}

TEST(ManPages, OfRecordHasEveryFlagOfARun) {
    const auto pages = manPages(program(), {});
    const std::string& text = pageOf(pages, "shardscope-record.1").text;
    for (const run::RunOption& option : run::runOptions()) {
        if (*option.flag == '\0') continue;
        std::string flag;
        for (const char* at = option.flag; *at != '\0'; ++at)
            flag += *at == '-' ? std::string("\\-") : std::string(1, *at);
        EXPECT_THAT(text, HasSubstr("\\fB" + flag + "\\fR"));
    }
    EXPECT_THAT(text, HasSubstr(".SS \"Model\""));
}

TEST(ManPages, TextIsNoRequest) {
    Program one{"one", "one 1", {"", "does", {}, {}, {}}, {}};
    one.itself.groups = {{"", {{{"-a"}, {}, ".start of 'a\\b'"}}}};
    const std::string text = manPages(one, {})[0].text;
    EXPECT_THAT(text, HasSubstr("\n\\&.start of \\(aqa\\eb\\(aq.\n"));
}

TEST(ManPages, AreReadWithoutAWarning) {
    if (std::system("groff --version >/dev/null 2>&1") != 0)
        GTEST_SKIP() << "groff is not installed";
    const test::TemporaryFolder folder;
    for (const ManPage& page : manPages(program(), {"shardscope-desktop(1)"})) {
        const std::string path = folder.path() + "/" + page.file;
        std::ofstream(path) << page.text;
        EXPECT_THAT(outputOf("groff -man -Tutf8 -ww -z '" + path + "' 2>&1"), IsEmpty())
            << page.file;
    }
}

TEST(FooterSections, HeadingsBeginAtTheLeftAndEndWithAColon) {
    const auto sections =
        sectionsOf("First.\n\nWords:\n  a  one\n\nSaid by the way.\n\nExample:\n  it\n");
    ASSERT_EQ(sections.size(), 4u);
    EXPECT_EQ(sections[0].title, "Notes");
    EXPECT_THAT(sections[0].lines, ElementsAre("First."));
    EXPECT_EQ(sections[1].title, "Words");
    EXPECT_THAT(sections[1].lines, ElementsAre("  a  one"));
    EXPECT_THAT(sections[2].lines, ElementsAre("Said by the way."));
    EXPECT_EQ(sections[3].title, "Example");
}

}  // namespace
}  // namespace shardscope::manual
