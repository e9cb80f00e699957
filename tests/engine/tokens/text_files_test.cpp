// Text files below folders that this user may not read all of.
#include "engine/tokens/text_files.h"

#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace shardscope::tokens {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr uid_t kNobody = 65534;

/// What a user without any rights of root's is told of the folder.
std::string toldToAUser(const std::string& folder) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return "no pipe";
    const pid_t pid = ::fork();
    if (pid == 0) {
        if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(1);
        const auto found = findTextFiles(folder);
        const std::string text = found ? "found" : found.error().message;
        ::_exit(::write(ends[1], text.data(), text.size()) < 0 ? 1 : 0);
    }
    ::close(ends[1]);
    std::string told(4096, '\0');
    const ssize_t count = ::read(ends[0], told.data(), told.size());
    told.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    ::close(ends[0]);
    ::waitpid(pid, nullptr, 0);
    return told;
}

class TextFilesBarred : public testing::Test {
protected:
    TextFilesBarred() {
        fs::permissions(m_folder.path(), fs::perms(0755));
        fs::create_directories(m_folder.file("data/more"));
        std::ofstream(m_folder.file("data/more/a.txt")) << "text";
    }
    ~TextFilesBarred() override {
        for (const char* each : {"data", "data/more", "data/more/a.txt"})
            fs::permissions(m_folder.file(each), fs::perms::owner_all);
    }
    const test::TemporaryFolder m_folder;
};

TEST_F(TextFilesBarred, AreFoundByWhoMayReadThem) {
    EXPECT_EQ(toldToAUser(m_folder.file("data")), "found");
}

TEST_F(TextFilesBarred, AFolderWithoutRightsIsNotCalledEmpty) {
    for (const int mode : {0, 0400, 0100}) {
        fs::permissions(m_folder.file("data"), fs::perms(mode));
        EXPECT_THAT(
            toldToAUser(m_folder.file("data")),
            AllOf(HasSubstr("data cannot be read by user "), HasSubstr("it belongs to user "),
                  HasSubstr(mode == 0 ? "mode 0000" : "mode 0"), HasSubstr("(chmod)")));
    }
}

TEST_F(TextFilesBarred, NeitherIsOneWhoseFilesMayNotBeRead) {
    fs::permissions(m_folder.file("data/more/a.txt"), fs::perms::none);
    EXPECT_THAT(toldToAUser(m_folder.file("data")),
                AllOf(HasSubstr("holds no text file that can be read"),
                      HasSubstr("data/more/a.txt cannot be, by user ")));
    fs::permissions(m_folder.file("data/more"), fs::perms::none);
    EXPECT_THAT(toldToAUser(m_folder.file("data")), HasSubstr("data/more cannot be, by user "));
}

TEST_F(TextFilesBarred, AnEmptyOneIs) {
    fs::remove(m_folder.file("data/more/a.txt"));
    std::ofstream(m_folder.file("data/more/a.txt"));
    EXPECT_THAT(toldToAUser(m_folder.file("data")), HasSubstr("holds no text file; give"));
}

}  // namespace
}  // namespace shardscope::tokens
