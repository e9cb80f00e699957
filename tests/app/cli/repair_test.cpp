// `info --verify`, `repair` and `export` as programs: what they print, how they end.
#include "storage/interchange/formats.h"
#include "storage/recording/repair/salvage_recording.h"
#include "storage/recording/verify/verify_recording.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace shardscope::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Repair : public CliTest {
protected:
    void SetUp() override {
        const auto program = startRecord();
        ASSERT_EQ(program->wait(), 0) << program->err();
    }
    /// Zeros over the first bytes of the first chunk.
    void damage() const {
        std::fstream file(output(), std::ios::binary | std::ios::in | std::ios::out);
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        const std::size_t chunk = bytes.find("SCK1");
        ASSERT_NE(chunk, std::string::npos);
        file.seekp(static_cast<std::streamoff>(chunk));
        file.write("\0\0\0\0", 4);
    }
};

TEST_F(Repair, VerifySaysThatAGoodRecordingIsSound) {
    const auto text = start({"info", "--verify", output()});
    EXPECT_EQ(text->wait(), 0) << text->out() << text->err();
    EXPECT_THAT(text->out(), HasSubstr("everything agrees"));
    const auto json = start({"info", "--verify", "--json", output()});
    EXPECT_EQ(json->wait(), 0);
    const auto found = nlohmann::json::parse(json->out());
    EXPECT_EQ(found["schema"], "shardscope.verification/1");
    EXPECT_TRUE(found["sound"].get<bool>());
    EXPECT_GT(found["events"]["spans"].get<int>(), 0);
    const auto none = start({"info", "--verify", path("none.sscope")});
    EXPECT_EQ(none->wait(), 3);
    EXPECT_THAT(none->err(), HasSubstr("none.sscope does not exist"));
}

TEST_F(Repair, SavesWhatIsLeftAndSaysWhatIsNot) {
    damage();
    const auto before = start({"info", "--verify", output()});
    EXPECT_THAT(before->wait(), testing::AnyOf(1, 3)) << before->out();
    const auto repair = start({"repair", output(), "-o", path("saved.sscope")});
    ASSERT_EQ(repair->wait(), 0) << repair->err();
    EXPECT_THAT(repair->out(), AllOf(HasSubstr("repaired"), HasSubstr("lost")));
    const auto after = start({"info", "--verify", path("saved.sscope")});
    EXPECT_EQ(after->wait(), 0) << after->out() << after->err();
    const auto report = start({"report", path("saved.sscope")});
    EXPECT_THAT(report->wait(), testing::AnyOf(0, 1)) << report->err();
    const auto again = start({"repair", output(), "-o", path("saved.sscope")});
    EXPECT_EQ(again->wait(), 2);
    EXPECT_THAT(again->err(), HasSubstr("already exists"));
}

TEST_F(Repair, InterruptedExportsAndRepairsTakeTheirFilesWithThem) {
    std::string trace = "{\"traceEvents\":[";
    for (std::int64_t i = 0; i < 400'000; ++i)
        trace += R"({"ph":"X","cat":"cpu_op","name":"op )" + std::to_string(i * 7919 % 100'003) +
                 R"(","pid":1,"tid":)" + std::to_string(i % 5) + R"(,"ts":)" +
                 std::to_string(3 * i) + R"(,"dur":2,"args":{"n":)" + std::to_string(i) + "}},\n";
    std::ofstream(path("trace.json")) << trace << "{\"ph\":\"M\"}]}";
    ASSERT_EQ(start({"import", path("trace.json"), "-o", path("big.sscope")})->wait(), 0);
    const auto leftovers = [&] {
        std::vector<std::string> found;
        for (const auto& entry :
             std::filesystem::directory_iterator(std::filesystem::path(output()).parent_path()))
            if (entry.path().filename().string().starts_with("out."))
                found.push_back(entry.path().filename().string());
        return found;
    };
    const std::vector<std::string> verbs[] = {{"export", path("big.sscope"), "--format", "kineto"},
                                              {"export", path("big.sscope"), "--format", "sscope"},
                                              {"repair", path("big.sscope")}};
    for (std::vector<std::string> verb : verbs) {
        verb.insert(verb.end(), {"-o", path("out.json.gz"), "--force"});
        // One that is quicker than the signal is tried again.
        bool interrupted = false;
        for (int i = 0; i < 10 && !interrupted; ++i) {
            std::filesystem::remove(path("out.json.gz"));
            const auto program = start(verb);
            ASSERT_TRUE(eventually([&] { return !leftovers().empty(); })) << program->err();
            program->signal(i % 2 == 0 ? SIGINT : SIGTERM);
            const int status = program->wait();
            if (status == 0) continue;
            interrupted = true;
            EXPECT_EQ(status, 130);
            EXPECT_THAT(program->err(), HasSubstr("interrupted, no file was written"));
            EXPECT_THAT(leftovers(), testing::IsEmpty());
        }
        EXPECT_TRUE(interrupted) << verb[0];
    }
}

TEST_F(Repair, AReportIsExportedAsItIsPrinted) {
    const std::pair<const char*, std::vector<std::string>> reports[] = {
        {"overview", {"report", output(), "--json"}},
        {"info", {"info", output(), "--json"}},
        {"verification", {"info", output(), "--verify", "--json"}}};
    for (const auto& [name, command] : reports) {
        const auto exported = start({"export", output(), "--format", "json", "--report", name, "-o",
                                     path("report.json"), "--force"});
        ASSERT_EQ(exported->wait(), 0) << exported->err();
        const auto printed = start(command);
        ASSERT_EQ(printed->wait(), 0) << printed->err();
        std::ifstream file(path("report.json"));
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        EXPECT_EQ(text, printed->out()) << name;
        EXPECT_TRUE(nlohmann::json::accept(text));
    }
    const auto part =
        start({"export", output(), "--format", "json", "--ranks", "0", "-o", path("part.json")});
    EXPECT_EQ(part->wait(), 2);
    EXPECT_THAT(part->err(), HasSubstr("whole recording"));
    const auto unknown = start(
        {"export", output(), "--format", "json", "--report", "nonsense", "-o", path("part.json")});
    EXPECT_EQ(unknown->wait(), 2);
    EXPECT_FALSE(std::filesystem::exists(path("part.json")));
}

TEST_F(Repair, RefusesWhatIsNoRecording) {
    const auto repair = start({"repair", path("text.txt"), "-o", path("saved.sscope")});
    EXPECT_EQ(repair->wait(), 3);
    EXPECT_THAT(repair->err(), HasSubstr("not a recording"));
    EXPECT_FALSE(std::filesystem::exists(path("saved.sscope")));
}

TEST_F(Repair, AnExportedPartIsReadByEveryVerb) {
    const auto part = path("part.sscope");
    const auto exported =
        start({"export", output(), "--format", "sscope", "--steps", "1-2", "-o", part});
    ASSERT_EQ(exported->wait(), 0) << exported->err();
    EXPECT_THAT(exported->out(), HasSubstr("wrote"));
    for (const std::vector<std::string>& verb : {std::vector<std::string>{"info", "--verify", part},
                                                 {"report", part},
                                                 {"info", part},
                                                 {"query", part, "SELECT count(*) FROM phases"}}) {
        const auto program = start(verb);
        EXPECT_EQ(program->wait(), 0) << verb[0] << program->out() << program->err();
    }
}

TEST_F(Repair, ExportSaysWhatItDoesNotUnderstand) {
    const std::pair<std::vector<std::string>, const char*> wrong[] = {
        {{"--format", "sscop"}, "did you mean 'sscope'"},
        {{"--format", "sscope", "--range", "3"}, "--range 3 is not a range of time"},
        {{"--format", "sscope", "--range", "2:1"}, "is not a range of time"},
        {{"--format", "sscope", "--range", "5000:6000"}, "nothing was recorded between"},
        {{"--format", "sscope", "--steps", "x"}, "--steps x names no steps"},
        {{"--format", "sscope", "--steps", "90-99"}, "has no step 90-99"},
        {{"--format", "sscope", "--ranks", "77"}, "has no rank 77"}};
    for (const auto& [more, sentence] : wrong) {
        std::vector<std::string> arguments = {"export", output(), "-o", path("x.sscope")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto program = start(arguments);
        EXPECT_EQ(program->wait(), 2) << sentence;
        EXPECT_THAT(program->err(), HasSubstr(sentence));
        EXPECT_FALSE(std::filesystem::exists(path("x.sscope")));
    }
}

TEST_F(Repair, AnExportWithoutAFormatGoesByTheNameOfItsOutput) {
    // Reports and Kineto traces both end in .json: that tells as little as no known ending.
    const std::pair<const char*, const char*> wanted[] = {
        {"named.sscope", "sscope"}, {"named.pftrace", "perfetto"}, {"named.sqlite", "nsys-sqlite"},
        {"named.folded", "folded"}, {"named.json", "perfetto"},    {"named.data", "perfetto"}};
    for (const auto& [name, format] : wanted) {
        const auto exported = start({"export", output(), "-o", path(name)});
        ASSERT_EQ(exported->wait(), 0) << exported->err();
        const auto found = interchange::recogniseTrace(path(name));
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_STREQ((*found)->name, format) << name;
    }
    const auto table = start({"export", output(), "--view", "steps", "-o", path("steps.csv")});
    ASSERT_EQ(table->wait(), 0) << table->err();
    std::ifstream file(path("steps.csv"));
    std::string header;
    std::getline(file, header);
    EXPECT_THAT(header, HasSubstr("start_ns,end_ns"));
    const auto profile = start({"export", output(), "-o", path("run.speedscope.json")});
    ASSERT_EQ(profile->wait(), 0) << profile->err();
    std::ifstream document(path("run.speedscope.json"));
    EXPECT_THAT((std::string{std::istreambuf_iterator<char>(document), {}}),
                HasSubstr("speedscope.app/file-format-schema"));
}

TEST_F(Repair, AnExportNeverReplacesWhatItReads) {
    const auto bytes = [&] {
        std::ifstream file(output(), std::ios::binary);
        return std::string{std::istreambuf_iterator<char>(file), {}};
    };
    const std::string before = bytes();
    std::filesystem::create_hard_link(output(), path("hard.sscope"));
    std::filesystem::create_symlink(output(), path("soft.sscope"));
    const std::vector<std::string> formats[] = {{"csv", "--view", "steps"},
                                                {"perfetto"},
                                                {"sscope"},
                                                {"folded"},
                                                {"speedscope"},
                                                {"nsys-sqlite"},
                                                {"json"},
                                                {"memory-snapshot"}};
    for (const auto& format : formats) {
        for (const std::string& name :
             {output(), path("./run.sscope"), path("hard.sscope"), path("soft.sscope")}) {
            std::vector<std::string> arguments = {"export", output(),  "-o",
                                                  name,     "--force", "--format"};
            arguments.insert(arguments.end(), format.begin(), format.end());
            const auto program = start(arguments);
            EXPECT_EQ(program->wait(), 2) << format[0] << " to " << name;
            EXPECT_THAT(program->err(), HasSubstr("is what this command reads"));
            ASSERT_EQ(bytes(), before) << format[0] << " to " << name;
        }
    }
}

TEST_F(Repair, WorksOnAFileThatMayOnlyBeRead) {
    // For root there is no such file.
    const bool root = ::geteuid() == 0;
    constexpr uid_t kNobody = 65534;
    const std::string folder = path("");
    std::filesystem::permissions(folder, std::filesystem::perms::all);
    std::filesystem::permissions(output(), static_cast<std::filesystem::perms>(0444));
    if (root) {
        ASSERT_EQ(::chown(output().c_str(), kNobody, kNobody), 0);
        ASSERT_EQ(::chmod(std::filesystem::path(folder).parent_path().c_str(), 0777), 0);
    }
    const pid_t child = ::fork();
    if (child == 0) {
        if (root && ::setuid(kNobody) != 0) ::_exit(99);
        const auto saved = storage::salvageRecording(output(), path("saved.sscope"), false);
        ::_exit(saved ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(std::filesystem::exists(path("saved.sscope")));
}

}  // namespace
}  // namespace shardscope::cli
