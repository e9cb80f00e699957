// What may be replaced, and what never. Only files, FIFOs, sockets and a terminal of the test's
// own.

#include "storage/model/step_facts.h"
#include "storage/recording/file/output_file.h"
#include "storage/recording/file/part_files.h"
#include "storage/recording/file/writer_lock.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace shardscope::storage {
namespace {

namespace fs = std::filesystem;
using test::FailsAs;
using test::FailsWith;
using test::IsOk;
using testing::AllOf;
using testing::Not;

class OutputTarget : public testing::Test {
protected:
    [[nodiscard]] std::string file(const std::string& name) const { return m_folder.file(name); }
    [[nodiscard]] std::string recording(const std::string& name) const {
        EXPECT_THAT(test::writeSampleRecording(file(name), {.steps = 1}), IsOk());
        return file(name);
    }
    [[nodiscard]] static Result<void> forced(const std::string& path,
                                             std::vector<std::string> inputs = {}) {
        return settleOutput({path, true, kRecording, std::move(inputs)});
    }
    static void expectRefused(const Result<void>& settled, const std::string& words) {
        EXPECT_THAT(settled, AllOf(FailsAs(ErrorCode::kUsage), FailsWith(words)));
    }

    static std::string contents(const std::string& path) {
        std::ostringstream text;
        text << std::ifstream(path, std::ios::binary).rdbuf();
        return text.str();
    }

    test::TemporaryFolder m_folder;
};

TEST_F(OutputTarget, ANewNameIsFineAndARecordingOnlyWhenForced) {
    EXPECT_THAT(settleOutput({file("new.sscope")}), IsOk());
    const std::string path = recording("run.sscope");
    expectRefused(settleOutput({path}), "already exists: choose another name, or replace it");
    EXPECT_THAT(forced(path), IsOk());
    expectRefused(forced(""), "--output");
    expectRefused(forced(file("no/run.sscope")), "does not exist, make it first");
}

TEST_F(OutputTarget, WhatIsNoRecordingStays) {
    std::ofstream(file("thesis.tex")) << "years of work";
    expectRefused(forced(file("thesis.tex")), "is not a recording");
    std::ofstream(file("empty")).close();
    EXPECT_THAT(forced(file("empty")), IsOk()) << "nothing is in it that could be lost";
    expectRefused(forced(m_folder.path()), "is a folder");
}

TEST_F(OutputTarget, WhatIsNoRegularFileIsNeverReplaced) {
    ASSERT_EQ(mkfifo(file("fifo").c_str(), 0600), 0);
    expectRefused(forced(file("fifo")), "is a FIFO, which is never replaced");
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, file("socket").c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    expectRefused(forced(file("socket")), "is a socket");
    close(listener);
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ASSERT_GE(terminal, 0);
    ASSERT_EQ(unlockpt(terminal), 0);
    const std::string device = ptsname(terminal);
    expectRefused(forced(device), "is a device");
    // Nor behind a symbolic link.
    for (const std::string& target : {file("fifo"), file("socket"), device, m_folder.path()}) {
        fs::remove(file("link"));
        fs::create_symlink(target, file("link"));
        EXPECT_THAT(forced(file("link")), FailsAs(ErrorCode::kUsage)) << target;
        EXPECT_TRUE(fs::is_symlink(file("link")));
    }
    // The sentence must not recommend what would be refused.
    for (const std::string& path : {file("fifo"), file("socket"), device})
        EXPECT_THAT(settleOutput({path}), Not(FailsWith("--force")));
    close(terminal);
}

TEST_F(OutputTarget, NothingIsWrittenThroughALink) {
    const std::string path = recording("run.sscope"), before = contents(path);
    for (const char* target : {"run.sscope", "nowhere"}) {
        const std::string link = file("latest.sscope");
        fs::create_symlink(target, link);
        const std::string words = link + " is a symbolic link to " + target;
        expectRefused(forced(link), words);
        EXPECT_THAT(settleOutput({link}), AllOf(FailsWith(words), Not(FailsWith("--force"))));
        EXPECT_THAT(RecordingWriter::create(link, RunFacts{}, true), FailsWith(words));
        EXPECT_EQ(fs::read_symlink(link), target);
        fs::remove(link);
    }
    EXPECT_EQ(contents(path), before);
    EXPECT_FALSE(fs::exists(file("nowhere")));
}

TEST_F(OutputTarget, AnInputIsNeverReplacedByWhateverName) {
    const std::string path = recording("run.sscope");
    fs::create_directory(file("folder"));
    fs::create_hard_link(path, file("folder/hard.sscope"));
    fs::create_symlink(path, file("soft.sscope"));
    for (const std::string& spelling :
         {path, file("folder/../run.sscope"), file("folder/hard.sscope"), file("soft.sscope")}) {
        expectRefused(forced(spelling, {path}), "is what this command reads");
        expectRefused(settleOutput({spelling, false, kRecording, {path}}),
                      "is what this command reads");
    }
    // The folder that is read holds it under another name.
    expectRefused(forced(path, {file("folder")}), "is what this command reads");
    EXPECT_THAT(forced(path, {"", "bytes", file("none")}), IsOk());
}

TEST_F(OutputTarget, ARecordingThatIsBeingWrittenIsLeftToItsWriter) {
    const std::string path = file("run.sscope");
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        const auto writer = RecordingWriter::create(path, RunFacts{}, false);
        static_cast<void>(!write(ready[1], "x", 1));
        pause();
        _exit(writer ? 0 : 1);
    }
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_TRUE(isBeingWritten(path));
    expectRefused(forced(path), "is being written by process " + std::to_string(child));
    expectRefused(settleOutput({path}), "is being written by");
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(isBeingWritten(path)) << "the kernel lets go of it";
    EXPECT_THAT(forced(path), IsOk());
    close(ready[0]);
    close(ready[1]);
}

bool isNote(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    return std::getline(file, line) && line == "# note";
}
constexpr Replaceable kNote{"a note", isNote};

/// Both have found that no recording is being written before either places its own.
TEST_F(OutputTarget, OfTwoWritersThatStartAtOnceOneIsRefused) {
    const std::string path = recording("r.sscope");
    for (int round = 0; round < 20; ++round) {
        std::array<int, 2> start{}, end{};
        ASSERT_EQ(::pipe(start.data()), 0);
        ASSERT_EQ(::pipe(end.data()), 0);
        std::array<pid_t, 2> children{};
        for (pid_t& child : children) {
            child = ::fork();
            ASSERT_GE(child, 0);
            if (child != 0) continue;
            ::close(start[1]);
            ::close(end[1]);
            char byte = 0;
            static_cast<void>(::read(start[0], &byte, 1));
            auto writer = RecordingWriter::create(path, RunFacts{}, true);
            if (!writer) ::_exit(static_cast<int>(writer.error().code));
            pollfd other{end[0], POLLIN, 0};  // until it has tried
            static_cast<void>(::poll(&other, 1, 10'000));
            ::_exit(writer->finalise(RunStatus::kFinished, {2}) ? 0 : 100);
        }
        ::close(start[1]);
        std::array<int, 2> statuses{};
        // The one that is refused ends by itself.
        ::waitpid(-1, statuses.data(), 0);
        ::close(end[1]);
        ::waitpid(-1, &statuses[1], 0);
        ::close(start[0]);
        ::close(end[0]);
        EXPECT_EQ(WEXITSTATUS(statuses[0]), static_cast<int>(ErrorCode::kUsage)) << round;
        EXPECT_EQ(WEXITSTATUS(statuses[1]), 0) << round;
    }
}

/// Any process that can read the folder may hold its lock.
TEST_F(OutputTarget, AFolderThatIsLockedForLongIsWrittenToAllTheSame) {
    const PlacingLock other(file("a"));
    ASSERT_TRUE(other.isHeld());
    EXPECT_FALSE(PlacingLock(file("b"), std::chrono::milliseconds(1)).isHeld());
    EXPECT_THAT(writeOutput({file("note"), false, kNote}, "# note"), IsOk());
}

TEST_F(OutputTarget, AWriterNoticesThatItsFileIsGone) {
    const std::string path = file("run.sscope");
    auto writer = RecordingWriter::create(path, RunFacts{}, false);
    ASSERT_THAT(writer, IsOk());
    EXPECT_TRUE(writer->isInPlace());
    ASSERT_THAT(writer->flush(), IsOk());
    fs::remove(path);
    EXPECT_FALSE(writer->isInPlace());
    EXPECT_THAT(writer->flush(), AllOf(FailsAs(ErrorCode::kFailure), FailsWith("was deleted")));
    EXPECT_THAT(writer->checkpoint(), FailsWith("was deleted"));
    EXPECT_THAT(writer->finalise(RunStatus::kFinished, {1}), FailsWith("was deleted"));
    EXPECT_THAT(writer->kept(), FailsWith("was deleted"));
}

TEST_F(OutputTarget, AWriterWhoseNameHasAnotherLeavesThatAlone) {
    const std::string path = file("run.sscope");
    {
        auto first = RecordingWriter::create(path, RunFacts{}, false);
        ASSERT_THAT(first, IsOk());
        ASSERT_THAT(first->addMetric({"loss", {0}, {0}, 1.0}), IsOk());
        ASSERT_THAT(first->flush(), IsOk());
        // As by `mv`: with its log it is a recording elsewhere.
        for (const char* suffix : {"", "-wal", "-shm"})
            fs::rename(path + suffix, file("moved.sscope") + suffix);
        auto second = RecordingWriter::create(path, RunFacts{}, false);
        ASSERT_THAT(second, IsOk());
        ASSERT_THAT(second->addMetric({"loss", {0}, {0}, 2.0}), IsOk());
        ASSERT_THAT(second->flush(), IsOk());
        EXPECT_FALSE(first->isInPlace());
        { const auto gone = std::move(*first); }
        ASSERT_THAT(second->addMetric({"loss", {1}, {1}, 3.0}), IsOk());
        ASSERT_THAT(second->finalise(RunStatus::kFinished, {2}), IsOk());
    }
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    EXPECT_EQ((*reader)->summary()->metrics.size(), 2u);
}

TEST_F(OutputTarget, AStaleLogIsNotAppliedToANewRecording) {
    const std::string path = file("run.sscope");
    const pid_t child = fork();
    if (child == 0) {
        auto writer = RecordingWriter::create(path, RunFacts{}, false);
        if (!writer || !writer->addMetric({"old", {0}, {0}, 1.0}) || !writer->flush()) _exit(1);
        kill(getpid(), SIGKILL);
    }
    waitpid(child, nullptr, 0);
    ASSERT_TRUE(fs::exists(path + "-wal"));
    fs::remove(path);
    {
        auto writer = RecordingWriter::create(path, RunFacts{}, false);
        ASSERT_THAT(writer, IsOk());
        ASSERT_THAT(writer->finalise(RunStatus::kFinished, {2}), IsOk());
    }
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    EXPECT_TRUE((*reader)->summary()->metrics.empty());
}

TEST_F(OutputTarget, BytesAreWrittenByTheSameRule) {
    const std::string note = file("note");
    EXPECT_THAT(writeOutput({note, false, kNote}, "# note\none"), IsOk());
    EXPECT_THAT(writeOutput({note, false, kNote}, "# note\ntwo"), FailsWith("--force"));
    EXPECT_THAT(writeOutput({note, true, kNote}, "# note\nthree"), IsOk());
    EXPECT_EQ(contents(note), "# note\nthree");
    fs::create_symlink(note, file("link"));
    EXPECT_THAT(writeOutput({file("link"), true, kNote}, "# note\nfour"), FailsWith("a symbolic"));
    EXPECT_EQ(contents(note), "# note\nthree");
    std::ofstream(file("mine")) << "precious";
    EXPECT_THAT(writeOutput({file("mine"), true, kNote}, "# note"), FailsWith("is not a note"));
    EXPECT_EQ(contents(file("mine")), "precious");
    ASSERT_EQ(::mkfifo(file("fifo").c_str(), 0600), 0);
    EXPECT_THAT(writeOutput({file("fifo"), true, kNote}, "# note"), FailsWith("is a FIFO"));
}

TEST_F(OutputTarget, APartIsWrittenThroughNoLink) {
    std::ofstream(file("mine")) << "precious";
    fs::create_symlink(file("mine"), partName(file("note"), "part"));
    EXPECT_THAT(writeOutput({file("note"), false, kNote}, "# note"), IsOk());
    EXPECT_EQ(contents(file("mine")), "precious");
    EXPECT_EQ(contents(file("note")), "# note");
}

}  // namespace
}  // namespace shardscope::storage
