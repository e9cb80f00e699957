// Files that are made where something may have been put in wait for them.
#include "storage/model/new_file.h"

#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace shardscope {
namespace {

namespace fs = std::filesystem;

class NewFile : public testing::Test {
protected:
    NewFile() { std::ofstream(victim()) << "precious"; }
    [[nodiscard]] std::string file(const std::string& name) const { return m_folder.file(name); }
    [[nodiscard]] std::string victim() const { return file("victim"); }
    static std::string read(const std::string& path) {
        std::ostringstream text;
        text << std::ifstream(path, std::ios::binary).rdbuf();
        return text.str();
    }

    test::TemporaryFolder m_folder;
};

TEST_F(NewFile, IsWrittenThroughNoLink) {
    fs::create_symlink(victim(), file("link"));
    EXPECT_EQ(writeNewFile(file("link"), "ours"), 0);
    EXPECT_EQ(read(victim()), "precious");
    EXPECT_FALSE(fs::is_symlink(file("link")));
    EXPECT_EQ(read(file("link")), "ours");
}

TEST_F(NewFile, OfOurOwnIsReplacedWholeAndThroughNoLink) {
    const std::string partial = file("own") + '.' + std::to_string(::getpid());
    fs::create_symlink(victim(), partial);
    fs::create_symlink(victim(), file("own"));
    EXPECT_EQ(replaceOwnFile(file("own"), "first"), 0);
    EXPECT_EQ(replaceOwnFile(file("own"), "second"), 0);
    EXPECT_EQ(read(victim()), "precious");
    EXPECT_EQ(read(file("own")), "second");
    EXPECT_FALSE(fs::exists(fs::symlink_status(partial))) << "nothing is left";
}

TEST_F(NewFile, TakesThePlaceOfAFifoWithoutOpeningIt) {
    ASSERT_EQ(::mkfifo(file("fifo").c_str(), 0600), 0);
    EXPECT_EQ(writeNewFile(file("fifo"), "ours"), 0);
    EXPECT_EQ(read(file("fifo")), "ours");
}

TEST_F(NewFile, SaysWhyNot) {
    EXPECT_EQ(writeNewFile(file("none/x"), "ours"), ENOENT);
    EXPECT_EQ(replaceOwnFile(file("none/x"), "ours"), ENOENT);
    fs::create_directory(file("folder"));
    EXPECT_EQ(replaceOwnFile(file("folder"), "ours"), EISDIR);
    EXPECT_EQ(openNewFile(file("folder")), -1);
}

}  // namespace
}  // namespace shardscope
