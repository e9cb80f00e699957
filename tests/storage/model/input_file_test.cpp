// Pipes where files are read: none is waited for without end.
#include "storage/model/input_file.h"

#include "tests/support/temporary_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

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
    const auto hold = InputHold::of(pipe(), std::chrono::seconds(0));
    ASSERT_FALSE(hold.has_value());
    EXPECT_EQ(hold.error().code, ErrorCode::kUnreadable);
    EXPECT_NE(hold.error().message.find(pipe() + " is a pipe, and no program has written to it"),
              std::string::npos)
        << hold.error().message;
}

TEST_F(InputFile, ThatIsAPipeIsReadFromItsWriter) {
    const int writer = ::open(pipe().c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_TRUE(InputHold::of(pipe(), std::chrono::seconds(0)).has_value()) << "nothing yet";
    ASSERT_EQ(::write(writer, "text", 4), 4);
    const auto hold = InputHold::of(pipe(), std::chrono::seconds(0));
    ASSERT_TRUE(hold.has_value());
    const int reader = ::open(pipe().c_str(), O_RDONLY | O_CLOEXEC);
    ::close(writer);
    char text[8] = {};
    EXPECT_EQ(::read(reader, text, sizeof text), 4) << "looking took nothing of it";
    ::close(reader);
}

TEST_F(InputFile, OfAnotherKindIsNotWaitedFor) {
    for (const std::string& each : {file(), m_folder.file("none"), std::string("/dev/null")})
        EXPECT_TRUE(InputHold::of(each).has_value()) << each;
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
