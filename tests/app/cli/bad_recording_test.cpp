// Files given to report, info and query that are no recordings, or not whole ones.
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace shardscope::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class BadRecording : public CliTest, public testing::WithParamInterface<const char*> {
protected:
    void record() {
        const auto program = startRecord();
        ASSERT_EQ(program->wait(), 0) << program->err();
    }
    std::unique_ptr<Program> read(const std::string& file) {
        std::vector<std::string> arguments = {GetParam(), file};
        if (arguments[0] == "query") arguments.push_back("SELECT count(*) FROM steps");
        if (arguments[0] == "analyze")
            for (const char* each : {"breakdown", "collectives", "efficiency", "work"})
                arguments.emplace_back(each);
        return start(arguments);
    }
    void overwrite(std::streamoff at, const std::string& bytes) {
        std::fstream file(output(), std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(at);
        file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
};

TEST_P(BadRecording, AGoodOneIsRead) {
    record();
    const auto program = read(output());
    EXPECT_EQ(program->wait(), 0) << program->err();
    EXPECT_NE(program->out(), "");
}

TEST_P(BadRecording, AMissingFileIsUnreadable) {
    const auto program = read(path("none.sscope"));
    EXPECT_EQ(program->wait(), 3);
    EXPECT_THAT(program->err(), HasSubstr("none.sscope"));
    EXPECT_FALSE(std::filesystem::exists(path("none.sscope"))) << "reading must not make it";
}

TEST_P(BadRecording, AnotherFileIsUnreadable) {
    const auto program = read(path("text.txt"));
    EXPECT_EQ(program->wait(), 3);
    EXPECT_THAT(program->err(), AllOf(HasSubstr("text.txt"), HasSubstr("not a ")));
}

TEST_P(BadRecording, AFileCutInHalfIsReadInPartOrUnreadableNeverACrash) {
    record();
    const auto size = std::filesystem::file_size(output());
    for (const auto part : {size / 8, size / 2, size - 1}) {
        std::filesystem::copy_file(output(), path("cut.sscope"),
                                   std::filesystem::copy_options::overwrite_existing);
        std::filesystem::resize_file(path("cut.sscope"), part);
        const auto program = read(path("cut.sscope"));
        const int status = program->wait();
        EXPECT_TRUE(status == 0 || status == 3) << status << " " << program->err();
        if (status == 3) {
            EXPECT_THAT(program->err(), HasSubstr("cut.sscope"));
        }
    }
}

TEST_P(BadRecording, ANewerFormatIsRefusedByName) {
    record();
    // SQLite's user_version, big-endian at byte 60, holds the major version above the minor.
    overwrite(60, std::string("\x7f\xff\x00\x00", 4));
    const auto program = read(output());
    EXPECT_EQ(program->wait(), 3);
    EXPECT_THAT(program->err(), AllOf(HasSubstr("run.sscope"), HasSubstr("newer")));
}

INSTANTIATE_TEST_SUITE_P(Verbs, BadRecording,
                         testing::Values("report", "analyze", "info", "query"));

}  // namespace
}  // namespace shardscope::cli
