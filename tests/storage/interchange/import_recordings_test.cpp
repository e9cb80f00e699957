// Recordings of our own into new ones: copies, older formats, ranks that were recorded apart.
#include "storage/columns/chunk.h"
#include "storage/interchange/export.h"
#include "storage/interchange/import.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/verify/verify_recording.h"
#include "storage/recording/write/recording_writer.h"
#include "storage/schema/migrations.h"
#include "storage/sqlite/connection.h"
#include "tests/support/formats.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace shardscope::interchange {
namespace {

using storage::Connection;
using storage::openRecording;
using storage::RecordingReader;
using test::FailsWith;
using test::IsOk;
using testing::Contains;
using testing::HasSubstr;

constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};

std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Everything that one lane holds, in words that do not depend on ids of strings.
std::vector<std::string> wordsOf(RecordingReader& reader, const LaneFacts& lane) {
    std::vector<std::string> words;
    const auto add = [&](std::int64_t time, const auto&... rest) {
        std::string line = std::to_string(time);
        ((line += " " + rest), ...);
        words.push_back(line);
    };
    const auto number = [](auto value) { return std::to_string(value); };
    const auto spans = reader.spans(lane.rank, lane.lane, kEverything).value();
    for (const SpanEvent& span : spans) {
        const std::string name(reader.text(lane.rank, span.name));
        const std::string arguments(reader.text(lane.rank, span.arguments));
        add(span.start.ns, number(span.duration.ns), name, arguments, number(span.correlation),
            number(span.step.value), number(span.layer.value), number(static_cast<int>(span.phase)),
            number(int{span.depth}));
    }
    const auto samples = reader.samples(lane.rank, lane.lane, kEverything).value();
    for (const CounterEvent& sample : samples) add(sample.time.ns, number(sample.value));
    return words;
}

std::vector<std::string> wordsOf(RecordingReader& reader) {
    const RecordingSummary summary = reader.summary().value();
    std::vector<std::string> words;
    for (const LaneFacts& lane : summary.lanes) {
        words.push_back("lane " + lane.name + " " + std::to_string(lane.lane.value));
        for (std::string& word : wordsOf(reader, lane)) words.push_back(std::move(word));
    }
    for (const char* sql :
         {"SELECT rank, step, start_ns, end_ns, tokens FROM steps ORDER BY rank, step",
          "SELECT * FROM metrics ORDER BY name, step", "SELECT * FROM memory_theory",
          "SELECT rank, name, uuid FROM devices", "SELECT name, boot_id FROM hosts",
          "SELECT rank, pid, device, emitted, dropped FROM ranks",
          "SELECT rank, time_ns, action, size_bytes, category, address, owner FROM memory_events",
          "SELECT rank, operation, sequence, issue_ns, start_ns, end_ns, algorithm FROM collectives"
          " ORDER BY rank, sequence"}) {
        const auto table = reader.query(sql);
        EXPECT_THAT(table, IsOk()) << sql;
        for (const auto& row : table->rows)
            for (const auto& cell : row) words.push_back(cell.value_or("NULL"));
    }
    return words;
}

class ImportRecordings : public ::testing::Test {
protected:
    std::string sample(const std::string& name, const test::SampleOptions& options = {}) {
        const std::string path = m_folder.file(name);
        EXPECT_THAT(test::writeSampleRecording(path, options), IsOk());
        return path;
    }
    /// One rank of a recording as a recording.
    std::string only(const std::string& whole, std::uint32_t rank) {
        ExportOptions options;
        options.output = m_folder.file("rank" + std::to_string(rank) + ".sscope");
        options.ranks = {{rank}};
        EXPECT_THAT(exportAs("sscope", **openRecording(whole), options), IsOk());
        return options.output;
    }
    Result<ImportAccount> import(const std::vector<std::string>& inputs) {
        ImportOptions options;
        options.output = m_output;
        options.overwrite = true;
        return importTraces(inputs, options);
    }
    void expectSound() const {
        const auto found = storage::verifyRecording(m_output);
        ASSERT_THAT(found, IsOk());
        EXPECT_TRUE(found->sound()) << found->faults.at(0).what;
    }

    test::TemporaryFolder m_folder;
    std::string m_output = m_folder.file("out.sscope");
};

TEST_F(ImportRecordings, ACopyHoldsTheSame) {
    for (const bool gpu : {false, true}) {
        const std::string input = sample("in.sscope", {.gpu = gpu});
        const std::string before = contents(input);
        const auto account = import({input});
        ASSERT_THAT(account, IsOk());
        EXPECT_EQ(account->kept, account->read);
        EXPECT_EQ(wordsOf(**openRecording(m_output)), wordsOf(**openRecording(input)));
        EXPECT_EQ(contents(input), before) << "never in place";
        expectSound();
    }
}

/// Version 1.0, as its description had it: no devices, no arguments.
std::string writeVersionOne(const std::string& path) {
    auto file = Connection::open(path, Connection::Mode::kCreate);
    EXPECT_THAT(file, IsOk());
    EXPECT_THAT(file->execute(storage::migrations().front().sql), IsOk());
    EXPECT_THAT(
        file->execute(
            "PRAGMA application_id=" + std::to_string(storage::kApplicationId) +
            "; PRAGMA user_version=1000;"
            "INSERT INTO run VALUES('0123456789abcdef0123456789abcdef','{}','cmd','old','{}','{}',"
            " 'tiny','ddp-flat',1,10,1700000000000000000,2,9000,1);"
            "INSERT INTO hosts VALUES(0,'node','cpu',4,1000,'boot',0,0);"
            "INSERT INTO ranks VALUES(0,0,77,'cpu',NULL,'unknown',3,0,0,NULL);"
            "INSERT INTO lanes VALUES(0,2,4,'operators','',0);"
            "INSERT INTO strings VALUES(0,1,'aten::mm'),(0,2,'{\"shape\":[2,3]}');"
            "INSERT INTO steps VALUES(0,0,0,9000,8,-1,-1,-1,3,0,1,1);"
            "INSERT INTO metrics VALUES('loss',0,9000,2.5)"),
        IsOk());
    const std::vector<SpanEvent> spans = {
        {{100}, {50}, {2}, {1}, {2}, 7, {0}, {3}, Phase::kForward, 0},
        {{200}, {60}, {2}, {1}, {}, 8, {0}, {4}, Phase::kBackward, 0},
        {{200}, {10}, {2}, {1}, {2}, 9, {0}, {4}, Phase::kBackward, 1}};
    const auto chunk = columns::encodeSpans({0}, spans);
    auto insert = file->prepare("INSERT INTO chunks VALUES(1,1,0,2,100,260,3,?,?)");
    EXPECT_THAT(insert, IsOk());
    insert->bind(1, static_cast<std::int64_t>(chunk.size()))
        .bind(2, std::span<const std::byte>(chunk));
    EXPECT_THAT(insert->run(), IsOk());
    return path;
}

TEST_F(ImportRecordings, AnOlderMinorBecomesACurrentOne) {
    const std::string old = writeVersionOne(m_folder.file("old.sscope"));
    const std::string before = contents(old);
    const auto account = import({old});
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->read, 3u);
    EXPECT_EQ(account->kept, 3u);
    EXPECT_THAT(account->notes, Contains(HasSubstr("format 1.0")));
    EXPECT_EQ(contents(old), before);
    expectSound();
    auto reader = openRecording(m_output);
    ASSERT_THAT(reader, IsOk());
    const auto version =
        Connection::open(m_output, Connection::Mode::kReadOnly)->integer("PRAGMA user_version");
    ASSERT_THAT(version, IsOk());
    EXPECT_EQ(*version, storage::kFormatVersion);
    const auto summary = (*reader)->summary();
    EXPECT_EQ(summary->run.id, "0123456789abcdef0123456789abcdef");
    EXPECT_EQ(summary->run.strategy, "ddp-flat");
    ASSERT_EQ(summary->steps.size(), 1u);
    EXPECT_EQ(summary->steps[0].coreWaitNs, -1) << "not known, where 0 would be none";
    EXPECT_EQ(summary->steps[0].stolenNs, -1);
    EXPECT_EQ(summary->metrics.at(0).value, 2.5);
    const auto spans = *(*reader)->spans({0}, {2}, kEverything);
    ASSERT_EQ(spans.size(), 3u);
    EXPECT_EQ((*reader)->text({0}, spans[0].name), "aten::mm");
    EXPECT_EQ((*reader)->text({0}, spans[0].arguments), "{\"shape\":[2,3]}");
    EXPECT_EQ(spans[1].correlation, 8u);
    EXPECT_EQ(spans[2].depth, 1);
}

TEST_F(ImportRecordings, ANewerMajorIsRefusedByNumber) {
    const std::string newer = sample("newer.sscope");
    ASSERT_THAT(
        Connection::open(newer, Connection::Mode::kCreate)->execute("PRAGMA user_version=7003"),
        IsOk());
    EXPECT_THAT(import({newer}), FailsWith("format 7"));
    EXPECT_FALSE(std::filesystem::exists(m_output));
}

TEST_F(ImportRecordings, RanksThatWereRecordedApartAreJoined) {
    const std::string whole = sample("whole.sscope");
    ASSERT_THAT(import({only(whole, 0), only(whole, 1)}), IsOk());
    expectSound();
    auto joined = openRecording(m_output);
    ASSERT_THAT(joined, IsOk());
    EXPECT_EQ(wordsOf(**joined), wordsOf(**openRecording(whole)));
    EXPECT_EQ((*joined)->summary()->run.id, (*openRecording(whole))->summary()->run.id);
    // A folder of them is the same.
    std::filesystem::create_directory(m_folder.file("ranks"));
    for (const char* name : {"rank0.sscope", "rank1.sscope"})
        std::filesystem::rename(m_folder.file(name), m_folder.file("ranks/") + name);
    ASSERT_THAT(import({m_folder.file("ranks")}), IsOk());
    EXPECT_EQ(wordsOf(**openRecording(m_output)), wordsOf(**openRecording(whole)));
}

TEST_F(ImportRecordings, TheSameRankTwiceIsRefused) {
    const std::string whole = sample("whole.sscope");
    EXPECT_THAT(import({whole, only(whole, 1)}), FailsWith("are both of rank 1"));
    EXPECT_FALSE(std::filesystem::exists(m_output));
}

/// One span at 1 us of a run of its own.
std::string oneSpan(const std::string& path, const std::string& id, std::uint32_t rank,
                    std::int64_t started) {
    RunFacts run;
    run.id = id;
    run.startedUnixNs = started;
    auto writer = storage::RecordingWriter::create(path, run, true);
    EXPECT_THAT(writer->addHost({0, "node", "cpu", 1, {}, id, 0, 0}), IsOk());
    RankFacts facts;
    facts.rank = {rank};
    facts.emitted = 1;
    EXPECT_THAT(writer->putRank(facts), IsOk());
    EXPECT_THAT(writer->addLane({{rank}, {2}, LaneRole::kHost, "operators", "", 0}), IsOk());
    SpanEvent span;
    span.start = {1'000};
    span.duration = {10};
    span.lane = {2};
    EXPECT_THAT(writer->addChunk(columns::encodeSpans({rank}, std::span(&span, 1))), IsOk());
    EXPECT_THAT(writer->finalise(RunStatus::kFinished, {2'000}), IsOk());
    return path;
}

TEST_F(ImportRecordings, ClocksOfDifferentRunsAreBroughtTogether) {
    const auto write = [&](const char* name, std::uint32_t rank, std::int64_t started) {
        return oneSpan(m_folder.file(name), name, rank, started);
    };
    const std::int64_t start = 1'700'000'000'000'000'000;
    ASSERT_THAT(import({write("a", 0, start), write("b", 5, start + 500)}), IsOk());
    expectSound();
    auto joined = openRecording(m_output);
    EXPECT_EQ((*joined)->spans({0}, {2}, kEverything)->at(0).start.ns, 1'000);
    EXPECT_EQ((*joined)->spans({5}, {2}, kEverything)->at(0).start.ns, 1'500);
    const auto summary = (*joined)->summary();
    EXPECT_EQ(summary->hosts.size(), 2u);
    EXPECT_NE(summary->ranks.at(0).host, summary->ranks.at(1).host);
    EXPECT_EQ(summary->run.ended.ns, 2'500);
    EXPECT_NE(summary->run.id, "a");
}

TEST_F(ImportRecordings, RunsWhoseClocksShareNoStartBeginAtZeroEach) {
    constexpr std::int64_t kStart = 1'700'000'000'000'000'000;
    constexpr std::int64_t kDay = std::int64_t{86'400} * 1'000'000'000;
    const auto write = [&](const char* name, std::uint32_t rank, std::int64_t started) {
        return oneSpan(m_folder.file(name), name, rank, started);
    };
    const auto account = import({write("a", 0, kStart), write("b", 1, kStart + kDay),
                                 write("c", 2, kStart + kDay + 50), write("unknown", 3, 0)});
    ASSERT_THAT(account, IsOk());
    EXPECT_THAT(account->notes, Contains("a, b and unknown lie 24 h apart: their clocks share no "
                                         "start, so each begins at 0"));
    expectSound();
    auto joined = openRecording(m_output);
    const auto startOf = [&](std::uint32_t rank) {
        return (*joined)->spans({rank}, {2}, kEverything)->at(0).start.ns;
    };
    EXPECT_EQ(startOf(0), 1'000);
    EXPECT_EQ(startOf(1), 0);
    EXPECT_EQ(startOf(2), 50);
    EXPECT_EQ(startOf(3), 0);
    EXPECT_EQ((*joined)->summary()->diagnostics.at(0).code, "clocks-unrelated");
}

TEST_F(ImportRecordings, ARunWhoseWriterDiedIsTakenAsFarAsItGoes) {
    const std::string input = sample("killed.sscope", {.finalise = false});
    const auto account = import({input});
    ASSERT_THAT(account, IsOk());
    EXPECT_THAT(account->notes, Contains(HasSubstr("never finalised")));
    expectSound();
    EXPECT_TRUE((*openRecording(m_output))->summary()->complete);
    EXPECT_EQ((*openRecording(m_output))->summary()->run.status, RunStatus::kStopped);
}

TEST_F(ImportRecordings, TracesOfOtherToolsAreNotJoinedWithThem) {
    std::ofstream(m_folder.file("trace.json")) << R"({"traceEvents":[]})";
    EXPECT_THAT(import({sample("a.sscope"), m_folder.file("trace.json")}),
                FailsWith("cannot be joined"));
}

TEST_F(ImportRecordings, ADamagedChunkIsNamedAndNothingIsWritten) {
    const std::string input = sample("damaged.sscope");
    ASSERT_THAT(Connection::open(input, Connection::Mode::kCreate)
                    ->execute("UPDATE chunks SET data=zeroblob(length(data)) WHERE id="
                              "(SELECT min(id) FROM chunks)"),
                IsOk());
    EXPECT_THAT(import({input}), FailsWith("event chunk"));
    EXPECT_FALSE(std::filesystem::exists(m_output));
}

}  // namespace
}  // namespace shardscope::interchange
