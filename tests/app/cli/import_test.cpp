// `shardscope import` as a program: how it ends, and what it leaves.
#include "storage/model/rank_facts.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

namespace shardscope::cli {
namespace {

using testing::HasSubstr;

class Import : public CliTest {
protected:
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path(name)) << text;
        return path(name);
    }
    std::string goodTrace() const {
        return write("trace.json",
                     R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,)"
                     R"("tid":1,"ts":5,"dur":2}]})");
    }
    /// Names in the folder that begin like the output.
    std::vector<std::string> outputs() const {
        std::vector<std::string> found;
        const std::filesystem::path out(output());
        for (const auto& entry : std::filesystem::directory_iterator(out.parent_path())) {
            const std::string name = entry.path().filename().string();
            if (name.starts_with(out.filename().string())) found.push_back(name);
        }
        return found;
    }
};

TEST_F(Import, EndsWithZeroAndAnAccount) {
    const auto program = start({"import", goodTrace(), "-o", output()});
    EXPECT_EQ(program->wait(), 0) << program->err();
    EXPECT_THAT(program->out(), HasSubstr("1 events read, 1 kept (0 repaired), 0 rejected"));
    EXPECT_TRUE(recorded().complete);
}

TEST_F(Import, OfABadFileIsThree) {
    const std::pair<std::string, const char*> bad[] = {
        {path("none.json"), "none.json"},
        {write("text.json", "this is no trace"), "text.json"},
        {write("empty.json", ""), "empty.json"}};
    for (const auto& [file, named] : bad) {
        const auto program = start({"import", file, "-o", output()});
        EXPECT_EQ(program->wait(), 3) << file << program->out();
        EXPECT_THAT(program->err(), HasSubstr(named));
        EXPECT_TRUE(outputs().empty()) << file;
    }
}

TEST_F(Import, NeverOverwritesUnlessForced) {
    write(output().substr(output().rfind('/') + 1), "mine");
    const auto refused = start({"import", goodTrace(), "-o", output()});
    EXPECT_EQ(refused->wait(), 2);
    EXPECT_THAT(refused->err(), HasSubstr("already exists"));
    EXPECT_EQ(std::filesystem::file_size(output()), 4u);
    const auto foreign = start({"import", goodTrace(), "-o", output(), "--force"});
    EXPECT_EQ(foreign->wait(), 2);
    EXPECT_THAT(foreign->err(), HasSubstr("is not a recording"));
    EXPECT_EQ(std::filesystem::file_size(output()), 4u);
    std::filesystem::remove(output());
    ASSERT_EQ(start({"import", goodTrace(), "-o", output()})->wait(), 0);
    EXPECT_EQ(start({"import", goodTrace(), "-o", output()})->wait(), 2);
    const auto forced = start({"import", goodTrace(), "-o", output(), "--force"});
    EXPECT_EQ(forced->wait(), 0) << forced->err();
    EXPECT_TRUE(recorded().complete);
}

TEST_F(Import, OfWhatCannotBeWrittenIsTwo) {
    const auto program = start({"import", goodTrace(), "-o", path("none/out.sscope")});
    EXPECT_EQ(program->wait(), 2);
    EXPECT_THAT(program->err(), HasSubstr("does not exist"));
}

TEST_F(Import, StrictFailsOnARejectedEventAndLeavesNoFile) {
    const std::string trace = write(
        "odd.json", R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":5,)"
                    R"("dur":2},{"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"dur":2}]})");
    const auto lenient = start({"import", trace, "-o", path("lenient.sscope")});
    EXPECT_EQ(lenient->wait(), 0) << lenient->err();
    EXPECT_THAT(lenient->out(), HasSubstr("1 rejected"));
    const auto strict = start({"import", trace, "-o", output(), "--strict"});
    EXPECT_EQ(strict->wait(), 3);
    EXPECT_THAT(strict->err(), HasSubstr("--strict"));
    EXPECT_TRUE(outputs().empty());
}

TEST_F(Import, InterruptedWhileItWaitsForInputRemovesItsFiles) {
    for (const int signal : {SIGINT, SIGTERM}) {
        const auto program = start({"import", "-", "-o", output()}, true);
        program->type(R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,)"
                      R"("tid":1,"ts":5,"dur":2},)");
        ASSERT_TRUE(eventually([&] { return !outputs().empty(); })) << program->err();
        // Nothing more comes.
        program->signal(signal);
        EXPECT_EQ(program->wait(), 130) << program->out() << program->err();
        EXPECT_THAT(program->err(), HasSubstr("interrupted"));
        EXPECT_TRUE(outputs().empty());
    }
}

TEST_F(Import, OfAPipeThatNobodyWritesToCanBeInterrupted) {
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    const auto program = start({"import", path("pipe"), "-o", output()});
    ASSERT_TRUE(eventually([&] { return !outputs().empty(); })) << program->err();
    program->signal(SIGINT);
    EXPECT_EQ(program->wait(), 130) << program->err();
    EXPECT_TRUE(outputs().empty());
}

TEST_F(Import, ReadsPipesAsItReadsFiles) {
    // Its rank is said only at its end, so that it is read twice.
    const std::string trace =
        R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":5,"dur":2}],)"
        R"("distributedInfo":{"rank":3,"world_size":8}})";
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    const auto program = start({"import", path("pipe"), "-o", output()});
    std::ofstream(path("pipe")) << trace;
    EXPECT_EQ(program->wait(), 0) << program->err();
    EXPECT_EQ(recorded().ranks.at(0).rank.value, 3u);
    EXPECT_EQ(outputs().size(), 1u);
    const auto typed = start({"import", "-", "-o", path("typed.sscope")}, true);
    typed->type(trace);
    typed->closeInput();
    EXPECT_EQ(typed->wait(), 0) << typed->err();
    const auto text = start({"import", "-", "-o", path("text.sscope")}, true);
    text->type("this is no trace");
    text->closeInput();
    EXPECT_EQ(text->wait(), 3);
    EXPECT_THAT(text->err(), HasSubstr("standard input is no trace"));
}

TEST_F(Import, MigratesARecordingIntoACopy) {
    const auto recorder = startRecord();
    ASSERT_EQ(recorder->wait(), 0) << recorder->err();
    const auto copy = start({"import", output(), "-o", path("copy.sscope")});
    EXPECT_EQ(copy->wait(), 0) << copy->err();
    EXPECT_THAT(copy->out(), HasSubstr("0 rejected"));
    const auto verify = start({"info", "--verify", path("copy.sscope")});
    EXPECT_EQ(verify->wait(), 0) << verify->out();
    const auto itself = start({"import", output(), "-o", output(), "--force"});
    EXPECT_EQ(itself->wait(), 2);
    EXPECT_THAT(itself->err(), HasSubstr("is the input as well"));
}

}  // namespace
}  // namespace shardscope::cli
