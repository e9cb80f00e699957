// `report --dashboard`: what the window's program is asked, and what is said where it is not there.
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace shardscope::cli {
namespace {

using testing::HasSubstr;

class DashboardOption : public CliTest {
protected:
    /// Stands for shardscope-desktop.
    void standIn(const std::string& script) {
        const std::string program = path("desktop");
        std::ofstream(program) << "#!/bin/sh\n" << script;
        std::filesystem::permissions(program, std::filesystem::perms::owner_all);
        environment["SHARDSCOPE_DESKTOP_PROGRAM"] = program;
    }
    std::string askedFor() {
        std::ostringstream text;
        text << std::ifstream(path("asked")).rdbuf();
        return text.str();
    }
};

TEST_F(DashboardOption, IsDrawnByTheWindowsProgram) {
    standIn("echo \"$@\" > '" + path("asked") + "'\necho wrote it\n");
    auto program = start(
        {"report", "run.sscope", "--dashboard", "run.pdf", "--paper", "a3", "--theme", "dark"});
    EXPECT_EQ(program->wait(), 0);
    EXPECT_EQ(program->out(), "wrote it\n");
    EXPECT_EQ(askedFor(), "--dashboard run.pdf --paper a3 --theme dark -- run.sscope\n");
}

TEST_F(DashboardOption, IsForcedByTheWindowsProgramToo) {
    standIn("echo \"$@\" > '" + path("asked") + "'\n");
    EXPECT_EQ(start({"report", "run.sscope", "--dashboard", "run.pdf", "-f"})->wait(), 0);
    EXPECT_EQ(askedFor(), "--dashboard run.pdf --force -- run.sscope\n");
    EXPECT_EQ(start({"report", "run.sscope", "--force"})->wait(), 2) << "there is nothing to force";
}

TEST_F(DashboardOption, EndsAsThatDoes) {
    standIn("echo broken >&2; exit 3\n");
    auto program = start({"report", "run.sscope", "--dashboard", "run.pdf"});
    EXPECT_EQ(program->wait(), 3);
    EXPECT_EQ(program->err(), "broken\n");
}

TEST_F(DashboardOption, WithoutThatProgramSaysWhatToDo) {
    environment["SHARDSCOPE_DESKTOP_PROGRAM"] = path("nothing");
    auto program = start({"report", "run.sscope", "--dashboard", "run.pdf"});
    EXPECT_EQ(program->wait(), 1);
    EXPECT_THAT(program->err(), HasSubstr("build with Qt 6, or install"));
}

TEST_F(DashboardOption, WithoutItsLibrariesSaysSo) {
    standIn("exit 127\n");
    auto program = start({"report", "run.sscope", "--dashboard", "run.pdf"});
    EXPECT_EQ(program->wait(), 1);
    EXPECT_THAT(program->err(), HasSubstr("libraries of Qt 6"));
}

TEST_F(DashboardOption, IsNoJson) {
    auto program = start({"report", "run.sscope", "--dashboard", "run.pdf", "--json"});
    EXPECT_EQ(program->wait(), 2);
    program = start({"report", "run.sscope", "--paper", "a4"});
    EXPECT_EQ(program->wait(), 2);
}

}  // namespace
}  // namespace shardscope::cli
