// Pipes where files are read: none is waited for without end.
#include "storage/model/input_file.h"

#include "tests/support/temporary_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <thread>

namespace shardscope {
namespace {

class InputFile : public testing::Test {
protected:
    InputFile() {
        ::mkfifo(pipe().c_str(), 0600);
        std::ofstream(file()) << "text";
    }
    [[nodiscard]] std::string pipe() const { return m_folder.file("pipe"); }
    [[nodiscard]] std::string file() const { return m_folder.file("file"); }

    test::TemporaryFolder m_folder;
};

TEST_F(InputFile, ThatIsAPipeWithoutAWriterIsRefused) {
    const auto read = readInput(pipe(), std::chrono::seconds(0));
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code, ErrorCode::kUnreadable);
    EXPECT_NE(read.error().message.find(pipe() + " is a pipe, and no program has written to it"),
              std::string::npos)
        << read.error().message;
}

TEST_F(InputFile, ThatIsAPipeIsReadFromItsWriter) {
    std::thread writer([this] { std::ofstream(pipe()) << "text"; });
    const auto read = readInput(pipe());
    writer.join();
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(*read, "text");
}

TEST_F(InputFile, OfAnotherKindIsNotWaitedFor) {
    EXPECT_EQ(readInput(file()).value(), "text");
    EXPECT_EQ(readInput("/dev/null").value(), "");
    EXPECT_FALSE(readInput(m_folder.file("none")).has_value());
    EXPECT_FALSE(readInput("/").has_value());
}

TEST_F(InputFile, ThatHasToBeRegularIsRefusedAtOnceIfItIsNot) {
    EXPECT_EQ(openRegularFile(pipe()), -1);
    EXPECT_EQ(inputTrouble(errno), "it is a pipe or a device; give a file");
    EXPECT_EQ(openRegularFile("/dev/null"), -1);
    EXPECT_EQ(errno, ESPIPE);
    EXPECT_EQ(openRegularFile("/"), -1);
    EXPECT_EQ(errno, EISDIR);
    const int opened = openRegularFile(file());
    EXPECT_GE(opened, 0);
    ::close(opened);
}

}  // namespace
}  // namespace shardscope
