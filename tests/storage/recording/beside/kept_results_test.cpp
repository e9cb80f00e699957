#include "storage/recording/beside/kept_results.h"

#include "storage/sqlite/connection.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace shardscope::storage {
namespace {

namespace fs = std::filesystem;

class KeptResultsTest : public testing::Test {
protected:
    KeptResultsTest() { write("what a recording holds"); }

    void write(const std::string& bytes) const { std::ofstream(m_recording) << bytes; }
    [[nodiscard]] KeptResults kept(const std::string& program = "1.0") const {
        return {m_recording, program};
    }
    [[nodiscard]] std::string beside() const { return KeptResults::pathOf(m_recording); }
    [[nodiscard]] std::string contents(const std::string& path) const {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    test::TemporaryFolder m_folder;
    std::string m_recording = m_folder.file("run.sscope");
};

TEST_F(KeptResultsTest, AreFoundAgain) {
    EXPECT_EQ(kept().find("why"), std::nullopt);
    EXPECT_FALSE(fs::exists(beside())) << "asking makes no file";
    kept().keep("why", "because");
    kept().keep("where", std::string("here\0there", 10));
    EXPECT_EQ(kept().find("why"), "because");
    EXPECT_EQ(kept().find("where"), std::string("here\0there", 10));
    EXPECT_EQ(kept().find("when"), std::nullopt);
    kept().keep("why", "for this");
    EXPECT_EQ(kept().find("why"), "for this");
    EXPECT_EQ(contents(m_recording), "what a recording holds");
}

TEST_F(KeptResultsTest, AreOfTheRecordingAsItWas) {
    const KeptResults before = kept();
    before.keep("why", "because");
    write("what it holds now, which is more");
    EXPECT_EQ(kept().find("why"), std::nullopt);
    before.keep("where", "there");
    EXPECT_EQ(kept().find("where"), std::nullopt) << "it was computed of what is no more";
    kept().keep("why", "for that");
    EXPECT_EQ(kept().find("why"), "for that");
    EXPECT_EQ(before.find("why"), std::nullopt);
}

/// As archives and `cp -p` set them.
TEST_F(KeptResultsTest, AreNotOfAnotherOfTheSameSizeAndDate) {
    const auto date = fs::last_write_time(m_recording);
    kept().keep("why", "because");
    ASSERT_EQ(kept().find("why"), "because");
    const std::string other = m_folder.file("other.sscope");
    std::ofstream(other) << "WHAT A RECORDING HOLDS";
    fs::last_write_time(other, date);
    fs::rename(other, m_recording);
    EXPECT_EQ(kept().find("why"), std::nullopt);
    kept().keep("why", "for that");
    // Clocks of files go by ticks of the kernel, of 10 ms at most.
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    write("what a recording holds");
    fs::last_write_time(m_recording, date);
    EXPECT_EQ(kept().find("why"), std::nullopt);
}

TEST_F(KeptResultsTest, OfALinkAreThoseOfItsTarget) {
    const std::string link = m_folder.file("link.sscope");
    fs::create_symlink(m_recording, link);
    kept().keep("why", "because");
    EXPECT_EQ(KeptResults(link, "1.0").find("why"), "because");
    std::ofstream(m_recording + "-wal") << "more";
    EXPECT_EQ(KeptResults(link, "1.0").find("why"), std::nullopt);
}

TEST_F(KeptResultsTest, AreNotOfALogThatIsNotInTheFileYet) {
    std::ofstream(m_recording + "-wal") << "more";
    kept().keep("why", "because");
    EXPECT_FALSE(fs::exists(beside()));
    fs::remove(m_recording + "-wal");
    kept().keep("why", "because");
    std::ofstream(m_recording + "-wal") << "more";
    EXPECT_EQ(kept().find("why"), std::nullopt);
}

TEST_F(KeptResultsTest, AreOfOneProgram) {
    kept("1.0").keep("why", "because");
    EXPECT_EQ(kept("1.1").find("why"), std::nullopt);
    kept("1.1").keep("where", "there");
    EXPECT_EQ(kept("1.1").find("where"), "there");
    EXPECT_EQ(kept("1.0").find("why"), std::nullopt) << "the other one's have gone";
}

TEST_F(KeptResultsTest, TakeNoMoreThanTheirRoom) {
    const std::string third(KeptResults::kMostBytes / 3, 'x');
    for (const char* question : {"a", "b", "c"}) kept().keep(question, third);
    EXPECT_TRUE(kept().find("a"));
    kept().keep("d", "little, and too much");
    EXPECT_EQ(kept().find("a"), std::nullopt) << "the first to come is the first to go";
    EXPECT_TRUE(kept().find("b"));
    EXPECT_TRUE(kept().find("c"));
    EXPECT_TRUE(kept().find("d"));
    kept().keep("e", std::string(KeptResults::kMostBytes + 1, 'x'));
    EXPECT_EQ(kept().find("e"), std::nullopt);
    EXPECT_TRUE(kept().find("d"));
}

TEST_F(KeptResultsTest, LeaveAFileOfAnotherKindAlone) {
    std::ofstream(beside()) << "notes about the run";
    kept().keep("why", "because");
    EXPECT_EQ(contents(beside()), "notes about the run");
    EXPECT_EQ(kept().find("why"), std::nullopt);
    fs::remove(beside());
    auto other = Connection::open(beside(), Connection::Mode::kCreate);
    ASSERT_TRUE(other->execute("CREATE TABLE results(question, recording, program, result)"));
    kept().keep("why", "because");
    EXPECT_EQ(other->integer("SELECT count(*) FROM results").value(), 0);
    EXPECT_EQ(kept().find("why"), std::nullopt);
}

TEST_F(KeptResultsTest, AreNotTakenFromLinksPipesOrOthers) {
    kept().keep("why", "because");
    const std::string real = m_folder.file("real");
    fs::rename(beside(), real);
    fs::create_symlink(real, beside());
    EXPECT_EQ(kept().find("why"), std::nullopt);
    fs::remove(beside());
    ASSERT_EQ(::mkfifo(beside().c_str(), 0600), 0);
    EXPECT_EQ(kept().find("why"), std::nullopt) << "and nobody waits for a writer";
    kept().keep("why", "because");
    fs::remove(beside());
    if (::geteuid() != 0) return;
    fs::rename(real, beside());
    ASSERT_EQ(kept().find("why"), "because");
    ASSERT_EQ(::chown(beside().c_str(), 1, 1), 0);
    EXPECT_EQ(kept().find("why"), std::nullopt);
}

TEST_F(KeptResultsTest, OfADamagedFileAreNone) {
    kept().keep("why", std::string(100'000, 'x'));
    std::string bytes = contents(beside());
    for (std::size_t at = 100; at < bytes.size(); at += 7) bytes[at] = static_cast<char>(at);
    std::ofstream(beside(), std::ios::binary) << bytes;
    EXPECT_EQ(kept().find("why"), std::nullopt);
    kept().keep("why", "because");
}

TEST_F(KeptResultsTest, AreNotThereWhereThereIsNoRecording) {
    const KeptResults none(m_folder.file("no.sscope"), "1.0");
    none.keep("why", "because");
    EXPECT_EQ(none.find("why"), std::nullopt);
    const KeptResults folder(m_folder.path(), "1.0");
    folder.keep("why", "because");
    EXPECT_EQ(folder.find("why"), std::nullopt);
    EXPECT_FALSE(fs::exists(KeptResults::pathOf(m_folder.path())));
}

TEST_F(KeptResultsTest, AreLostInAFolderThatCannotBeWritten) {
    if (::geteuid() == 0) GTEST_SKIP() << "root writes everywhere";
    fs::permissions(m_folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
    kept().keep("why", "because");
    EXPECT_EQ(kept().find("why"), std::nullopt);
    fs::permissions(m_folder.path(), fs::perms::owner_all);
}

}  // namespace
}  // namespace shardscope::storage
