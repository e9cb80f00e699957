// Completions in the shells themselves, of a drawn program and of `shardscope`.
#include "app/manual/completion.h"

#include "app/cli/cli_help.h"
#include "app/cli/root_command.h"
#include "tests/support/temporary_folder.h"

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace shardscope::manual {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;

using Words = std::vector<std::string>;

Program drawn() {
    const Option help{{"-h", "--help"}, {}, "say it's all [of it]: here"};
    const Option level{{"-l", "--level"}, {"LEVEL", {"full", "light"}}, "how much"};
    const Option file{{"--output"}, {"FILE", {}}, "where"};
    const Option recording{{}, {"RECORDING", {}}, "what", true};
    const Option question{{}, {"QUESTION", {"steps", "memory"}}, "of it", true, true};
    return {"drawn",
            "drawn 1",
            {"", "draws", {}, {{"", {help}}}, {}},
            {{"take", "takes what is there", {}, {{"", {help, level, file}}}, {}},
             {"tell", "tells of it", {recording, question}, {{"", {help, level}}}, {}}}};
}

Program shardscopeItself() {
    CLI::App root;
    const auto commands = cli::addCommands(root);
    return cli::programHelp(root);
}

class Shell : public testing::Test {
protected:
    std::string write(const std::string& name, const std::string& text) {
        const std::string path = m_folder.path() + "/" + name;
        std::ofstream(path) << text;
        return path;
    }
    static Words outputOf(const std::string& command) {
        Words lines;
        FILE* pipe = ::popen(command.c_str(), "r");
        std::array<char, 4096> line{};
        while (std::fgets(line.data(), static_cast<int>(line.size()), pipe) != nullptr) {
            lines.emplace_back(line.data());
            lines.back().pop_back();
        }
        EXPECT_EQ(::pclose(pipe), 0) << command;
        return lines;
    }
    /// What bash offers at the end of these words.
    Words bash(const Program& program, const Words& words) {
        const std::string script = write("bash", bashCompletion(program));
        std::string typed;
        for (const std::string& each : words) typed += " '" + each + "'";
        return outputOf("bash -euc '. \"" + script +
                        "\"; shift 0; COMP_WORDS=(\"$@\"); "
                        "COMP_CWORD=$(($# - 1)); set +u; _" +
                        program.name +
                        " || true; printf \"%s\\n\" \"${COMPREPLY[@]}\" | grep . || true' bash" +
                        typed);
    }
    /// What fish offers for a line, without what it means.
    Words fish(const Program& program, const std::string& line) {
        const std::string script = write("fish", fishCompletion(program));
        Words offered = outputOf("HOME='" + m_folder.path() + "' fish --no-config -c 'source \"" +
                                 script + "\"; complete -C \"" + line + "\"'");
        for (std::string& each : offered) each.resize(std::min(each.find('\t'), each.size()));
        return offered;
    }

private:
    test::TemporaryFolder m_folder;
};

TEST_F(Shell, BashOffersVerbsOptionsAndWords) {
    const Program program = drawn();
    EXPECT_THAT(bash(program, {"drawn", ""}), ElementsAre("take", "tell"));
    EXPECT_THAT(bash(program, {"drawn", "ta"}), ElementsAre("take"));
    EXPECT_THAT(bash(program, {"drawn", "take", "--"}),
                UnorderedElementsAre("--help", "--level", "--output"));
    EXPECT_THAT(bash(program, {"drawn", "take", "--level", ""}), ElementsAre("full", "light"));
    EXPECT_THAT(bash(program, {"drawn", "take", "-l", "f"}), ElementsAre("full"));
    EXPECT_THAT(bash(program, {"drawn", "take", "--level", "="}), ElementsAre("full", "light"));
    EXPECT_THAT(bash(program, {"drawn", "take", "--level", "=", "li"}), ElementsAre("light"));
}

TEST_F(Shell, BashLeavesFilesToTheShell) {
    const Program program = drawn();
    EXPECT_THAT(bash(program, {"drawn", "take", "--output", ""}), IsEmpty());
    EXPECT_THAT(bash(program, {"drawn", "tell", ""}), IsEmpty());
}

TEST_F(Shell, BashCountsWhatStandsByItself) {
    const Program program = drawn();
    EXPECT_THAT(bash(program, {"drawn", "tell", "run", ""}), ElementsAre("steps", "memory"));
    EXPECT_THAT(bash(program, {"drawn", "tell", "--level", "full", ""}), IsEmpty());
    EXPECT_THAT(bash(program, {"drawn", "tell", "-l", "full", "run", "steps", "m"}),
                ElementsAre("memory"));
}

TEST_F(Shell, FishOffersTheSame) {
    if (std::system("fish --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "fish is not installed";
    const Program program = drawn();
    EXPECT_THAT(fish(program, "drawn t"), UnorderedElementsAre("take", "tell"));
    EXPECT_THAT(fish(program, "drawn take --"), IsSupersetOf({"--help", "--level", "--output"}));
    EXPECT_THAT(fish(program, "drawn take --level "), UnorderedElementsAre("full", "light"));
    EXPECT_THAT(fish(program, "drawn tell run s"), Contains("steps"));
}

TEST_F(Shell, ZshReadsItsFile) {
    if (std::system("zsh --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "zsh is not installed";
    for (const Program& program : {drawn(), shardscopeItself()}) {
        const std::string script = write("_" + program.name, zshCompletion(program));
        // -n reads without running: a text that ends a quotation too early is found.
        EXPECT_THAT(outputOf("zsh -n '" + script + "' 2>&1"), IsEmpty());
        EXPECT_THAT(
            outputOf("zsh -fc 'autoload -U compinit; compinit -D -u; fpath=(\"${0:h}\" $fpath); "
                     "autoload -U _" +
                     program.name + "; echo ready' '" + script + "' 2>&1"),
            ElementsAre("ready"));
    }
}

TEST_F(Shell, OfShardscopeItself) {
    const Program program = shardscopeItself();
    EXPECT_THAT(bash(program, {"shardscope", "re"}),
                UnorderedElementsAre("record", "report", "repair"));
    EXPECT_THAT(bash(program, {"shardscope", "record", "--strategy", ""}),
                IsSupersetOf({"single", "ddp-bucket", "zero3", "hsdp"}));
    EXPECT_THAT(bash(program, {"shardscope", "analyze", "run.sscope", ""}),
                IsSupersetOf({"steps", "overlap", "flame"}));
    EXPECT_THAT(bash(program, {"shardscope", "export", "--format", "p"}), ElementsAre("perfetto"));
    EXPECT_THAT(bash(program, {"shardscope", ""}), Not(Contains("agent"))) << "a hidden verb";
    if (std::system("fish --version >/dev/null 2>&1") != 0)
        GTEST_SKIP() << "fish is not installed: bash alone was tried";
    EXPECT_THAT(fish(program, "shardscope record --precision b"), ElementsAre("bf16"));
}

}  // namespace
}  // namespace shardscope::manual
