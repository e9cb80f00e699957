// What can be wrong with a file, a disk or a process, and what is still there after.
#include "storage/columns/chunk.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/verify/verify_recording.h"
#include "storage/recording/write/recording_writer.h"
#include "storage/sqlite/connection.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace shardscope::storage {
namespace {

namespace fs = std::filesystem;
using test::FailsAs;
using test::FailsWith;
using test::IsOk;
using ::testing::AllOf;

constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};

RunFacts someRun() {
    RunFacts run;
    run.id = "run";
    run.worldSize = 1;
    return run;
}

void writeText(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

void patchByte(const std::string& path, std::streamoff at, char value) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(at);
    file.put(value);
}

TEST(OpenRecording, SaysWhatIsWrongWithAFile) {
    const test::TemporaryFolder folder;
    EXPECT_THAT(openRecording(folder.file("no.sscope")),
                AllOf(FailsWith("does not exist"), FailsAs(ErrorCode::kUnreadable)));
    EXPECT_THAT(openRecording(folder.path()), FailsWith("is a folder"));
    ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
    EXPECT_THAT(openRecording(folder.file("pipe")), FailsWith("a pipe, socket or device"));
    writeText(folder.file("empty"), "");
    EXPECT_THAT(openRecording(folder.file("empty")), FailsWith("is empty"));
    writeText(folder.file("text"), std::string(5000, 'x'));
    EXPECT_THAT(openRecording(folder.file("text")),
                AllOf(FailsWith("is not a recording"), FailsAs(ErrorCode::kUnreadable)));
    auto other = Connection::open(folder.file("other"), Connection::Mode::kCreate);
    ASSERT_THAT(other->execute("CREATE TABLE t(a)"), IsOk());
    EXPECT_THAT(openRecording(folder.file("other")), FailsWith("not a recording of Shardscope"));
}

/// A sample recording after `sql`.
std::string tamperedWith(const test::TemporaryFolder& folder, const std::string& sql) {
    const std::string path = folder.file("run.sscope");
    EXPECT_THAT(test::writeSampleRecording(path, {.steps = 1}), IsOk());
    auto connection = Connection::open(path, Connection::Mode::kCreate);
    EXPECT_THAT(connection->execute(sql), IsOk());
    return path;
}

TEST(OpenRecording, NothingInAFilesSchemaRuns) {
    const test::TemporaryFolder folder;
    // Has no end.
    const std::string path = tamperedWith(
        folder,
        "ALTER TABLE steps RENAME TO old; CREATE VIEW steps AS WITH RECURSIVE r(step) AS (SELECT 1"
        " UNION ALL SELECT step+1 FROM r) SELECT 0 AS rank, step, 0 AS start_ns, 1 AS end_ns, 0 AS"
        " tokens, 0 AS expected_gathers, 0 AS expected_reductions, 0 AS expected_phases, 0 AS"
        " emitted, 0 AS dropped, 0 AS cpu_time_ns, 0 AS resident_set_bytes FROM r");
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    EXPECT_THAT((*reader)->summary(), AllOf(FailsAs(ErrorCode::kUnreadable),
                                            FailsWith("was changed by another program")));
    const auto found = verifyRecording(path);
    ASSERT_THAT(found, IsOk());
    EXPECT_FALSE(found->sound());
    EXPECT_THAT((*reader)->query("SELECT count(*) FROM main.steps"), FailsAs(ErrorCode::kUsage));
}

TEST(OpenRecording, ADamagedSchemaOrChunkIsTheFilesFaultAndNotTheQuestions) {
    const test::TemporaryFolder folder;
    const std::string path =
        tamperedWith(folder, "UPDATE chunks SET data=zeroblob(length(data)) WHERE kind=1");
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    EXPECT_THAT((*reader)->query("SELECT sum(duration_ns) FROM events"),
                AllOf(FailsAs(ErrorCode::kUnreadable), FailsWith(path)));
    EXPECT_THAT((*reader)->query("SELECT nonsense FROM events"), FailsAs(ErrorCode::kUsage));
    const std::string other = tamperedWith(folder, "ALTER TABLE devices RENAME COLUMN mig TO mih");
    EXPECT_THAT((*openRecording(other))->summary(),
                AllOf(FailsAs(ErrorCode::kUnreadable), FailsWith(other)));
}

TEST(OpenRecording, ATableThatHidesTheVirtualOneIsRefused) {
    const test::TemporaryFolder folder;
    const std::string path =
        tamperedWith(folder, "CREATE TABLE Events(kind, rank); INSERT INTO Events VALUES('x', 0)");
    EXPECT_THAT(openRecording(path),
                AllOf(FailsAs(ErrorCode::kUnreadable), FailsWith("has a table named events")));
}

TEST(OpenRecording, AbsurdNumbersOfRanksAreRefused) {
    const test::TemporaryFolder folder;
    const std::string path = tamperedWith(folder, "UPDATE run SET world_size=2147483647");
    EXPECT_THAT(openRecording(path),
                AllOf(FailsAs(ErrorCode::kUnreadable), FailsWith("2147483647 ranks")));
}

TEST(OpenRecording, RefusesANewerMajorVersionByNumber) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path, {.steps = 1}), IsOk());
    auto connection = Connection::open(path, Connection::Mode::kCreate);
    ASSERT_THAT(connection->execute("PRAGMA user_version=3000"), IsOk());
    EXPECT_THAT(openRecording(path),
                AllOf(FailsWith("recording format 3"), FailsWith("reads up to 2"),
                      FailsAs(ErrorCode::kUnreadable)));
    ASSERT_THAT(connection->execute("PRAGMA user_version=2007"), IsOk());
    EXPECT_THAT(openRecording(path), IsOk());
}

TEST(OpenRecording, SaysHowMuchOfATruncatedFileIsThere) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path), IsOk());
    const auto size = fs::file_size(path);
    for (const std::uintmax_t left : {size - 1, size / 2, std::uintmax_t{4096}}) {
        fs::resize_file(path, left);
        EXPECT_THAT(openRecording(path),
                    AllOf(FailsWith("is truncated"), FailsWith(std::to_string(left))));
    }
    fs::resize_file(path, 60);
    EXPECT_THAT(openRecording(path), FailsWith("is not a recording"));
}

TEST(OpenRecording, DamageInsideIsAnErrorNotACrash) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path, {.steps = 2}), IsOk());
    const auto size = static_cast<std::int64_t>(fs::file_size(path));
    test::RandomEvents random(3);
    for (int round = 0; round < 150; ++round) {
        const std::string copy = folder.file("copy.sscope");
        fs::copy_file(path, copy, fs::copy_options::overwrite_existing);
        for (int i = 0; i < 8; ++i)
            patchByte(copy, random.between(100, size - 1), static_cast<char>(random.bits()));
        auto reader = openRecording(copy);
        if (!reader) continue;
        // Each may fail or not; asan and the absence of a crash are the claim.
        static_cast<void>((*reader)->summary());
        static_cast<void>((*reader)->rankEvents({0}, kEverything));
        static_cast<void>((*reader)->slices({0}, lanes::kOperators.id, kEverything, {1 << 21}));
        static_cast<void>((*reader)->counter({0}, kMemoryTotalLane, kEverything, {1 << 21}));
        static_cast<void>((*reader)->query("SELECT count(*) FROM events"));
    }
}

TEST(CreateRecording, RefusesWhatCannotBeWritten) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    writeText(path, "precious");
    EXPECT_THAT(RecordingWriter::create(path, someRun(), false),
                AllOf(FailsWith("already exists"), FailsAs(ErrorCode::kUsage)));
    EXPECT_THAT(RecordingWriter::create(path, someRun(), true),
                AllOf(FailsWith("is not a recording"), FailsAs(ErrorCode::kUsage)));
    EXPECT_EQ(fs::file_size(path), 8u);
    EXPECT_THAT(RecordingWriter::create(folder.file("a.sscope"), someRun(), false), IsOk());
    EXPECT_THAT(RecordingWriter::create(folder.file("a.sscope"), someRun(), false),
                FailsWith("already exists"));
    EXPECT_THAT(RecordingWriter::create(folder.file("a.sscope"), someRun(), true), IsOk());
    EXPECT_THAT(RecordingWriter::create(folder.path(), someRun(), true), FailsWith("is a folder"));
    EXPECT_THAT(RecordingWriter::create(folder.file("no/run.sscope"), someRun(), false),
                FailsWith("does not exist, make it first"));
}

TEST(CreateRecording, ReplacesAnUnfinishedOneWithItsWal) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path, {.steps = 2, .finalise = false}), IsOk());
    ASSERT_THAT(test::writeSampleRecording(path, {.steps = 1}), IsOk());
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    EXPECT_EQ((*reader)->summary()->steps.size(), 2u);
}

/// Runs `body` in a child that ends without any clean-up; its exit status, or -signal.
template <class Body>
int inChild(Body body) {
    const pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/// Records until killed.
[[noreturn]] void recordForever(const std::string& path) {
    auto writer = RecordingWriter::create(path, someRun(), true);
    test::RandomEvents random(1);
    if (!writer) _exit(1);
    for (std::int32_t step = 0;; ++step) {
        const auto spans = random.nestedSpans(500, {step * std::int64_t{1'000'000'000}});
        if (!writer->addChunk(columns::encodeSpans({0}, spans))) _exit(2);
        const Timestamp start{step * std::int64_t{1'000'000'000}};
        if (!writer->addStep({{0}, {step}, start, start + Duration{9}, 1, 0, 0, 0, 0, 0, 0, {}}))
            _exit(3);
        if (step % 3 == 0 && !writer->flush()) _exit(4);
    }
}

TEST(KilledWriter, LeavesAFileThatOpensAtAnyMoment) {
    const test::TemporaryFolder folder;
    test::RandomEvents random(9);
    std::size_t opened = 0;
    for (int round = 0; round < 25; ++round) {
        const std::string path = folder.file("run" + std::to_string(round) + ".sscope");
        const pid_t child = fork();
        if (child == 0) recordForever(path);
        usleep(static_cast<useconds_t>(random.between(500, 60'000)));
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        // Before its first move the file does not exist; after it, it always opens.
        if (!fs::exists(path)) continue;
        ++opened;
        auto reader = openRecording(path);
        ASSERT_THAT(reader, IsOk()) << "round " << round;
        auto summary = (*reader)->summary();
        ASSERT_THAT(summary, IsOk());
        EXPECT_FALSE(summary->complete);
        EXPECT_EQ(summary->run.status, RunStatus::kRecording);
        EXPECT_EQ(summary->events.spans, summary->steps.size() * 500);
        auto spans = (*reader)->spans({0}, {0}, kEverything);
        ASSERT_THAT(spans, IsOk());
        EXPECT_EQ(spans->size(), summary->events.spans);
    }
    EXPECT_GT(opened, 0u);
}

TEST(KilledWriter, WhileFinalisingLosesNothing) {
    const test::TemporaryFolder folder;
    test::RandomEvents random(10);
    const auto spans = random.nestedSpans(60'000, {0});
    for (int round = 0; round < 12; ++round) {
        const std::string path = folder.file("run" + std::to_string(round) + ".sscope");
        const std::string ready = path + ".ready";
        const pid_t child = fork();
        if (child == 0) {
            auto writer = RecordingWriter::create(path, someRun(), true);
            for (std::size_t at = 0; writer && at < spans.size(); at += 500)
                if (!writer->addChunk(columns::encodeSpans({0}, std::span(spans).subspan(at, 500))))
                    _exit(1);
            if (!writer || !writer->flush()) _exit(2);
            writeText(ready, "x");
            static_cast<void>(writer->finalise(RunStatus::kFinished, {1}));
            _exit(0);
        }
        while (!fs::exists(ready) && waitpid(child, nullptr, WNOHANG) == 0) usleep(200);
        usleep(static_cast<useconds_t>(random.between(0, 40'000)));
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        auto reader = openRecording(path);
        ASSERT_THAT(reader, IsOk()) << "round " << round;
        EXPECT_EQ((*reader)->summary()->events.spans, spans.size());
        EXPECT_EQ((*reader)->spans({0}, {0}, kEverything)->size(),
                  static_cast<std::size_t>(
                      std::count_if(spans.begin(), spans.end(),
                                    [](const SpanEvent& span) { return span.lane == LaneId{0}; })));
    }
}

/// The events in the main file alone, as a copy without its log has them.
std::uint64_t spansWithoutLog(const std::string& path) {
    const std::string copy = path + ".copy.sscope";
    fs::copy_file(path, copy, fs::copy_options::overwrite_existing);
    auto reader = openRecording(copy);
    EXPECT_THAT(reader, IsOk());
    return reader ? (*reader)->summary()->events.spans : 0;
}

TEST(Checkpoint, BringsWhatWasCommittedIntoTheFileItself) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    auto writer = RecordingWriter::create(path, someRun(), false);
    ASSERT_THAT(writer, IsOk());
    test::RandomEvents random(3);
    ASSERT_THAT(writer->addChunk(columns::encodeSpans({0}, random.nestedSpans(500, {0}))), IsOk());
    ASSERT_THAT(writer->flush(), IsOk());
    EXPECT_EQ(spansWithoutLog(path), 0u) << "it would have been lost";
    ASSERT_THAT(writer->checkpoint(), IsOk());
    EXPECT_EQ(spansWithoutLog(path), 500u);
}

TEST(Finalised, IsNeverSaidByALogThatTheFileLacks) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    const std::string ready = path + ".ready";
    test::RandomEvents random(4);
    const auto spans = random.nestedSpans(60'000, {0});
    for (int round = 0; round < 20; ++round) {
        fs::remove(ready);
        const pid_t child = fork();
        if (child == 0) {
            auto writer = RecordingWriter::create(path, someRun(), true);
            for (std::size_t at = 0; writer && at < spans.size(); at += 500)
                if (!writer->addChunk(columns::encodeSpans({0}, std::span(spans).subspan(at, 500))))
                    _exit(1);
            if (!writer || !writer->flush()) _exit(2);
            writeText(ready, "x");
            static_cast<void>(writer->finalise(RunStatus::kFinished, {1}));
            pause();
        }
        while (!fs::exists(ready)) usleep(200);
        usleep(static_cast<useconds_t>(round * 4'000));
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        auto reader = openRecording(path);
        ASSERT_THAT(reader, IsOk());
        if (!(*reader)->summary()->complete) continue;
        reader = failure(ErrorCode::kCancelled, "closed");
        EXPECT_EQ(spansWithoutLog(path), spans.size()) << "round " << round;
    }
}

/// Killed in the middle of a change in rollback mode, as the last steps of finalising are.
TEST(KilledWriter, LeavesAJournalThatAReaderApplies) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path, {.steps = 3, .finalise = true}), IsOk());
    const auto before = openRecording(path).value()->summary()->events.total();
    const pid_t child = fork();
    if (child == 0) {
        auto connection = Connection::open(path, Connection::Mode::kCreate);
        // More pages than the cache holds: they reach the file before the transaction ends.
        if (!connection || !connection->execute("PRAGMA cache_size=2; PRAGMA cache_spill=1; BEGIN;"
                                                "UPDATE packed SET name=name||'x';"
                                                "DELETE FROM chunks; DELETE FROM steps"))
            _exit(1);
        kill(getpid(), SIGKILL);
    }
    waitpid(child, nullptr, 0);
    ASSERT_GT(fs::file_size(path + "-journal"), 0u);
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    EXPECT_EQ((*reader)->summary()->events.total(), before);
    EXPECT_THAT(verifyRecording(path), IsOk());
}

/// What SQLite makes when a file is removed while it is first read takes two threads and luck; here
/// it is put there.
TEST(Removed, WhileItWasReadLeavesNothingBehind) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("written");
    const auto readAndRemoved = [&](const std::string& log) {
        auto writer = Connection::open(path, Connection::Mode::kCreate);
        EXPECT_THAT(writer->execute("PRAGMA journal_mode=WAL; CREATE TABLE t(a)"), IsOk());
        auto reader = Connection::open(path, Connection::Mode::kReadOnly);
        EXPECT_THAT(reader->integer("SELECT count(*) FROM t"), IsOk());
        for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path + suffix);
        writer->leaveLog();
        writer = failure(ErrorCode::kFailure, "closed");
        writeText(path + "-wal", log);
        writeText(path + "-shm", "index");
    };
    readAndRemoved("");
    EXPECT_FALSE(fs::exists(path + "-wal"));
    EXPECT_FALSE(fs::exists(path + "-shm"));
    readAndRemoved("of another writer");
    EXPECT_TRUE(fs::exists(path + "-wal"));
    EXPECT_TRUE(fs::exists(path + "-shm"));
}

TEST(Kept, IsWhatIsInTheFile) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    RunFacts run = someRun();
    run.worldSize = 2;
    auto writer = RecordingWriter::create(path, run, false);
    ASSERT_THAT(writer, IsOk());
    const auto step = [](std::uint32_t rank, std::int32_t index) {
        return StepFacts{{rank}, {index}, {index * 10}, {index * 10 + 9}, 1, 0, 0, 0, 0, 0, 0, {}};
    };
    for (const auto& facts : {step(0, 0), step(1, 0), step(0, 1)})
        ASSERT_THAT(writer->addStep(facts), IsOk());
    test::RandomEvents random(5);
    ASSERT_THAT(writer->addChunk(columns::encodeSpans({0}, random.nestedSpans(70, {0}))), IsOk());
    ASSERT_THAT(writer->flush(), IsOk());
    const auto kept = writer->kept();
    ASSERT_THAT(kept, IsOk());
    EXPECT_EQ(kept->steps, 1) << "of the second one rank is missing";
    EXPECT_EQ(kept->events, 70u);
}

TEST(KilledWriter, WalIsReadWithoutSharedMemoryWhereNoneCanBeMade) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_EQ(inChild([&] {
                  const auto done =
                      test::writeSampleRecording(path, {.steps = 3, .finalise = false});
                  if (!done) _exit(1);
              }),
              0);
    // The child's writer was destroyed properly; leave a WAL as a kill would.
    const pid_t child = fork();
    if (child == 0) recordForever(path);
    usleep(150'000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    fs::remove(path + "-shm");
    ASSERT_TRUE(fs::exists(path + "-wal"));
    auto connection = Connection::open(path, Connection::Mode::kReadOnlyPrivate);
    ASSERT_THAT(connection, IsOk());
    auto steps = connection->integer("SELECT count(*) FROM steps");
    ASSERT_THAT(steps, IsOk());
    EXPECT_GT(*steps, 0);
    EXPECT_FALSE(fs::exists(path + "-shm"));
}

TEST(DiskFull, IsSaidInWordsAndLosesNothingCommitted) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    const int status = inChild([&] {
        // A file size limit stands in for a full disk.
        const rlimit limit{1 << 20, RLIM_INFINITY};
        setrlimit(RLIMIT_FSIZE, &limit);
        std::signal(SIGXFSZ, SIG_IGN);
        auto writer = RecordingWriter::create(path, someRun(), false);
        if (!writer) _exit(1);
        test::RandomEvents random(2);
        for (int i = 0; i < 10'000; ++i) {
            auto stored = writer->addChunk(columns::encodeSpans({0}, random.spans(2000)));
            if (stored) stored = writer->flush();
            if (stored) continue;
            const bool said =
                stored.error().message.find(path) != std::string::npos &&
                stored.error().message.find("committed before stays readable") != std::string::npos;
            // Small as it is, the end still fits; it must not claim that all is there.
            const rlimit raised{RLIM_INFINITY, RLIM_INFINITY};
            setrlimit(RLIMIT_FSIZE, &raised);
            static_cast<void>(writer->finalise(RunStatus::kFailed, {1}));
            _exit(said ? 42 : 2);
        }
        _exit(3);
    });
    EXPECT_EQ(status, 42);
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    EXPECT_GT((*reader)->summary()->events.spans, 0u);
    EXPECT_FALSE((*reader)->summary()->complete);
    const auto found = verifyRecording(path);
    ASSERT_THAT(found, IsOk());
    for (const Fault& fault : found->faults)
        EXPECT_NE(fault.where, "pyramid") << fault.what << ": sums up what was rolled back";
}

}  // namespace
}  // namespace shardscope::storage
