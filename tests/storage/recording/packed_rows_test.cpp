// Rows that a small finalised recording keeps as columns: everyone who reads sees tables.
#include "storage/recording/file/packed_rows.h"

#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/repair/salvage_recording.h"
#include "storage/recording/verify/verify_recording.h"
#include "storage/recording/write/recording_writer.h"
#include "storage/schema/migrations.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <tuple>

namespace shardscope::storage {
namespace {

using test::FailsAs;
using test::FailsWith;
using test::IsOk;

constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};

class PackedRows : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_THAT(test::writeSampleRecording(m_packed, {.steps = 4}), IsOk());
        ASSERT_THAT(test::writeSampleRecording(m_plain, {.steps = 4, .finalise = false}), IsOk());
    }
    static std::int64_t stored(const std::string& path, const std::string& what) {
        return Connection::open(path, Connection::Mode::kReadOnly)
            ->integer("SELECT count(*) FROM main." + what)
            .value();
    }
    static std::string all(const std::string& path, const std::string& sql) {
        auto reader = openRecording(path);
        if (!reader) return reader.error().message;
        const auto table = (*reader)->query(sql);
        if (!table) return table.error().message;
        std::string text;
        for (const auto& row : table->rows) {
            for (const auto& cell : row) text += cell.value_or("NULL") + "|";
            text += "\n";
        }
        return text;
    }
    void change(const std::string& sql) {
        auto connection = Connection::open(m_packed, Connection::Mode::kCreate);
        ASSERT_THAT(connection->execute(sql), IsOk());
    }

    test::TemporaryFolder m_folder;
    std::string m_packed = m_folder.file("packed.sscope"), m_plain = m_folder.file("plain.sscope");
};

TEST_F(PackedRows, AreOfAFinalisedRecordingAndTakeLess) {
    auto packed = Connection::open(m_packed, Connection::Mode::kReadOnly).value();
    for (const PackedTable& table : kPackedTables) {
        EXPECT_FALSE(packed.hasTable(table.name).value()) << "an empty one would be believed";
        EXPECT_GT(stored(m_plain, table.name), 0) << table.name;
    }
    EXPECT_EQ(stored(m_plain, "packed"), 0);
    EXPECT_EQ(stored(m_packed, "packed"), std::ssize(kPackedTables));
}

TEST_F(PackedRows, AreTablesForQueries) {
    for (const char* sql :
         {"SELECT * FROM strings ORDER BY rank, id",
          "SELECT * FROM collectives ORDER BY rank, group_id, sequence",
          "SELECT DISTINCT s.text FROM collectives c JOIN strings s ON s.rank=c.rank AND"
          " s.id=c.algorithm_id",
          "SELECT rank, count(DISTINCT name) FROM events GROUP BY rank"}) {
        const std::string rows = all(m_packed, sql);
        EXPECT_GT(rows.size(), 5u) << sql;
        EXPECT_EQ(rows, all(m_plain, sql)) << sql;
    }
}

TEST_F(PackedRows, AreReadAsIfTheyWereRows) {
    auto packed = openRecording(m_packed), plain = openRecording(m_plain);
    ASSERT_THAT(packed, IsOk());
    for (const RankId rank : {RankId{0}, RankId{1}}) {
        const auto a = (*packed)->rankEvents(rank, kEverything);
        const auto b = (*plain)->rankEvents(rank, kEverything);
        ASSERT_THAT(a, IsOk());
        EXPECT_GT(a->collectives.size(), 10u);
        EXPECT_EQ(a->collectives, b->collectives);
        const auto spans = (*packed)->spans(rank, lanes::kPhases.id, kEverything);
        ASSERT_THAT(spans, IsOk());
        ASSERT_FALSE(spans->empty());
        for (const SpanEvent& span : *spans)
            ASSERT_EQ((*packed)->text(rank, span.name), (*plain)->text(rank, span.name));
    }
    EXPECT_EQ((*packed)->summary()->events.total(), (*plain)->summary()->events.total());
}

TEST_F(PackedRows, MayBeOfAFolderThatCannotBeWritten) {
    namespace fs = std::filesystem;
    const std::string folder = m_folder.file("fixed");
    fs::create_directory(folder);
    fs::copy(m_packed, folder + "/run.sscope");
    fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_EQ(all(folder + "/run.sscope", "SELECT count(*) FROM strings"),
              all(m_plain, "SELECT count(*) FROM strings"));
    fs::permissions(folder, fs::perms::owner_all);
}

/// Without its names, or with fewer collectives, a recording would say what is not so.
TEST_F(PackedRows, ADamagedBlobIsNoEmptyTable) {
    change("UPDATE packed SET data=substr(data, 1, length(data) - 1) WHERE name='collectives'");
    EXPECT_THAT(openRecording(m_packed), FailsAs(ErrorCode::kUnreadable));
    EXPECT_THAT(openRecording(m_packed), FailsWith("of collectives, does not decode"));
    EXPECT_THAT(openRecording(m_packed), FailsWith("shardscope repair " + m_packed + " --output "));
    const auto found = verifyRecording(m_packed);
    ASSERT_THAT(found, IsOk());
    ASSERT_FALSE(found->sound());
    EXPECT_EQ(found->faults[0].where, "packed");
}

TEST_F(PackedRows, RepairKeepsTheOtherTable) {
    const std::string names = all(m_packed, "SELECT * FROM strings");
    const std::string saved = m_folder.file("saved.sscope");
    change("UPDATE packed SET data=zeroblob(100) WHERE name='collectives'");
    const auto salvage = salvageRecording(m_packed, saved, false);
    ASSERT_THAT(salvage, IsOk());
    EXPECT_FALSE(salvage->lossless());
    EXPECT_TRUE(verifyRecording(saved)->sound());
    EXPECT_EQ(all(saved, "SELECT * FROM strings"), names);
    EXPECT_EQ(all(saved, "SELECT count(*) FROM collectives"), "0|\n");
}

TEST_F(PackedRows, RepairMakesThemRowsAgain) {
    const std::string sql = "SELECT * FROM collectives ORDER BY rank, sequence";
    const std::string rows = all(m_packed, sql), saved = m_folder.file("saved.sscope");
    const auto salvage = salvageRecording(m_packed, saved, false);
    ASSERT_THAT(salvage, IsOk());
    EXPECT_TRUE(salvage->lossless());
    EXPECT_EQ(all(saved, sql), rows);
    EXPECT_GT(stored(saved, "collectives"), 0);
}

TEST_F(PackedRows, ClaimsOfGigabytesAreRefused) {
    // One text, in 200 rows of each of 20 blobs.
    columns::RowTable table{200, {}};
    for (const char* name : {"rank", "id", "text"})
        table.columns.push_back({name,
                                 std::vector(200, columns::CellType::kInteger),
                                 std::vector<std::int64_t>(200, 0),
                                 {}});
    for (std::int64_t i = 0; i < 200; ++i)
        table.columns[1].values[static_cast<std::size_t>(i)] = 1000 + i;
    table.columns[2].types.assign(200, columns::CellType::kText);
    table.columns[2].texts = {std::string(70'000, 'x')};
    const auto blob = columns::encodeRows(table);
    {
        auto connection = Connection::open(m_packed, Connection::Mode::kCreate);
        auto insert = connection->prepare(
            "INSERT INTO packed(name, count, bytes, data) VALUES('strings', 200, ?, ?)");
        for (int i = 0; i < 20; ++i)
            ASSERT_THAT(
                insert->bind(1, std::ssize(blob)).bind(2, std::span<const std::byte>(blob)).run(),
                IsOk());
    }
    EXPECT_THAT(openRecording(m_packed), FailsWith("more than a recording keeps like this"));
}

/// Another program that read on while it was finalised leaves it like that.
TEST_F(PackedRows, MayBeOfAFileThatWasNotMarkedAsFinalised) {
    change("UPDATE run SET finalised=0");
    auto reader = openRecording(m_packed), plain = openRecording(m_plain);
    const auto events = (*reader)->rankEvents({0}, kEverything);
    ASSERT_THAT(events, IsOk());
    EXPECT_EQ(events->collectives, (*plain)->rankEvents({0}, kEverything)->collectives);
    EXPECT_EQ((*reader)->summary()->events.total(), (*plain)->summary()->events.total());
    const auto spans = (*reader)->spans({0}, lanes::kPhases.id, kEverything);
    ASSERT_THAT(spans, IsOk());
    for (const SpanEvent& span : *spans)
        ASSERT_EQ((*reader)->text({0}, span.name), (*plain)->text({0}, span.name));
}

/// Texts that came after some had been read, and were packed with them.
TEST(PackedWhileRead, HidesNothing) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    RunFacts run;
    run.id = std::string(32, '1');
    run.configJson = run.librariesJson = run.environmentJson = "{}";
    auto writer = RecordingWriter::create(path, run, false);
    ASSERT_THAT(writer, IsOk());
    ASSERT_THAT(writer->addStrings({0}, {1}, {"early"}), IsOk());
    ASSERT_THAT(writer->flush(), IsOk());
    auto reader = openRecording(path);
    EXPECT_EQ((*reader)->text({0}, {1}), "early");
    ASSERT_THAT(writer->addStrings({0}, {2}, {"late"}), IsOk());
    ASSERT_THAT(writer->finalise(RunStatus::kFinished, {1}), IsOk());
    EXPECT_TRUE((*reader)->summary()->complete);
    EXPECT_EQ((*reader)->text({0}, {2}), "late");
    EXPECT_EQ((*reader)->text({0}, {3}), "");
}

/// Any number of copies of a blob are the rows of one.
TEST_F(PackedRows, DoubledBlobsAreNoMoreRows) {
    const std::string before = all(m_packed, "SELECT count(*) FROM collectives");
    change(
        "INSERT INTO packed(name, count, bytes, data) SELECT name, count, bytes, data FROM packed");
    EXPECT_EQ(all(m_packed, "SELECT count(*) FROM collectives"), before);
    EXPECT_FALSE(verifyRecording(m_packed)->sound());
}

TEST_F(PackedRows, WithoutThemTheFileLacksWhatItMustHave) {
    for (const char* sql :
         {"UPDATE packed SET name='sqlite_master'", "DELETE FROM packed", "DROP TABLE packed"}) {
        change(sql);
        auto reader = openRecording(m_packed);
        EXPECT_FALSE(reader && (*reader)->summary()) << sql;
        EXPECT_THAT(all(m_packed, "SELECT count(*) FROM strings"), testing::HasSubstr("strings"));
    }
}

TEST_F(PackedRows, CellsThatATableRefusesAreRefused) {
    columns::RowTable rows{1, {}};
    for (const char* name : {"rank", "id", "text"})
        rows.columns.push_back({name, {columns::CellType::kNull}, {0}, {}});
    const auto blob = columns::encodeRows(rows);
    auto connection = Connection::open(m_packed, Connection::Mode::kCreate).value();
    auto insert = connection.prepare(
        "INSERT INTO packed(name, count, bytes, data) VALUES('strings', 1, ?, ?)");
    ASSERT_THAT(insert->bind(1, std::ssize(blob)).bind(2, std::span<const std::byte>(blob)).run(),
                IsOk());
    EXPECT_THAT(openRecording(m_packed), FailsWith("has 1 impossible rows"));
}

/// The extension is loaded again when a run has ended that it was loaded in.
TEST_F(PackedRows, TablesAreMadeAnewByASecondLook) {
    auto connection = Connection::open(m_packed, Connection::Mode::kReadOnly).value();
    for (int i = 0; i < 2; ++i) {
        ASSERT_THAT(unpackRows(connection, "mine_"), IsOk());
        EXPECT_GT(*connection.integer("SELECT count(*) FROM mine_collectives"), 10);
    }
}

class PackRows : public ::testing::Test {
protected:
    void SetUp() override {
        for (const Migration& migration : migrations())
            ASSERT_THAT(m_connection.execute(migration.sql), IsOk());
    }
    void fill(const std::string& texts) {
        ASSERT_THAT(m_connection.execute("INSERT INTO strings " + texts), IsOk());
    }
    std::int64_t value(const std::string& sql) { return m_connection.integer(sql).value(); }

    test::TemporaryFolder m_folder;
    Connection m_connection =
        Connection::open(m_folder.file("some.sqlite"), Connection::Mode::kCreate).value();
};

TEST_F(PackRows, LeaveATableThatIsTooLargeToUnpackInPassing) {
    fill(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<1000001)"
        " SELECT 0, i, 'x'||i FROM n");
    ASSERT_THAT(packRows(m_connection), IsOk());
    EXPECT_EQ(value("SELECT count(*) FROM strings"), 1'000'001);
    EXPECT_EQ(value("SELECT count(*) FROM packed"), 0);
    EXPECT_EQ(value("SELECT count(*) FROM collectives"), 0) << "no rows: nothing to pack";
    ASSERT_THAT(m_connection.execute("DELETE FROM strings WHERE id > 70000"), IsOk());
    ASSERT_THAT(packRows(m_connection), IsOk());
    EXPECT_EQ(value("SELECT count(*) FROM packed"), 2) << "65,536 rows and the rest";
    EXPECT_EQ(*countStoredRows(m_connection, "strings"), 70'000);
    ASSERT_THAT(unpackRows(m_connection), IsOk());
    EXPECT_EQ(value("SELECT sum(id) FROM strings"), 70'000LL * 70'001 / 2);
}

TEST_F(PackRows, OfLargeTextsFitIntoTheirBlobs) {
    fill("SELECT 0, value, printf('%.*c', 7900000, 'x') FROM json_each('[1,2,3,4,5]')");
    ASSERT_THAT(packRows(m_connection), IsOk());
    EXPECT_GT(value("SELECT count(*) FROM packed"), 1);
    ASSERT_THAT(unpackRows(m_connection), IsOk());
    EXPECT_EQ(value("SELECT sum(length(text)) FROM strings"), 5 * 7'900'000LL);
}

TEST_F(PackRows, LeaveATextThatFillsABlobAlone) {
    fill("SELECT 0, value, printf('%.*c', 9000000, 'x') FROM json_each('[1,2]')");
    ASSERT_THAT(packRows(m_connection), IsOk());
    EXPECT_EQ(value("SELECT count(*) FROM strings"), 2);
}

/// A run of so many steps that opening it would wait for their rows.
class CopiedRows : public ::testing::Test {
protected:
    static constexpr std::int32_t kSteps = kLeastCopied / 2;

    void SetUp() override {
        RunFacts run;
        run.id = "long";
        run.worldSize = 2;
        auto writer = RecordingWriter::create(m_path, run, false);
        ASSERT_THAT(writer, IsOk());
        for (std::int32_t step = 0; step < kSteps; ++step) {
            for (const std::uint32_t rank : {0U, 1U}) {
                StepFacts facts;
                facts.rank = RankId{rank};
                facts.step = {step};
                facts.start = {step * 10};
                facts.end = {step * 10 + 9};
                facts.tokens = 7;
                facts.expectedPhases = 3;
                facts.residentSet = {std::int64_t{step} << 32};
                facts.coreWaitNs = step % 3 - 1;
                facts.expectedExchanges = step;
                ASSERT_THAT(writer->addStep(facts), IsOk());
            }
            const double value = step % 100 == 0 ? std::nan("") : 1.0 / (step + 1);
            for (const char* name : {"loss", "own"})
                ASSERT_THAT(writer->addMetric({name, {step}, {step * 10 + 9}, value}), IsOk());
        }
        ASSERT_THAT(writer->finalise(RunStatus::kFinished, {kSteps * 10}), IsOk());
    }
    [[nodiscard]] std::int64_t copies(const char* table) const {
        return Connection::open(m_path, Connection::Mode::kReadOnly)
            ->integer(std::string("SELECT coalesce(sum(count), 0) FROM packed WHERE name='") +
                      table + "'")
            .value();
    }
    [[nodiscard]] RecordingSummary summary() const {
        auto reader = openRecording(m_path);
        EXPECT_THAT(reader, IsOk());
        auto read = (*reader)->summary();
        EXPECT_THAT(read, IsOk());
        return *read;
    }
    void change(const std::string& sql) {
        auto connection = Connection::open(m_path, Connection::Mode::kCreate);
        ASSERT_THAT(connection->execute(sql), IsOk());
    }
    static void expectSame(const RecordingSummary& a, const RecordingSummary& b) {
        ASSERT_EQ(a.steps.size(), b.steps.size());
        for (std::size_t i = 0; i < a.steps.size(); ++i) {
            const StepFacts &x = a.steps[i], &y = b.steps[i];
            ASSERT_EQ(std::tie(x.rank, x.step, x.start, x.end, x.tokens, x.expectedGathers),
                      std::tie(y.rank, y.step, y.start, y.end, y.tokens, y.expectedGathers));
            ASSERT_EQ(std::tie(x.residentSet, x.coreWaitNs, x.expectedExchanges, x.stolenNs),
                      std::tie(y.residentSet, y.coreWaitNs, y.expectedExchanges, y.stolenNs));
        }
        ASSERT_EQ(a.metrics.size(), b.metrics.size());
        for (std::size_t i = 0; i < a.metrics.size(); ++i) {
            const MetricPoint &x = a.metrics[i], &y = b.metrics[i];
            ASSERT_EQ(std::tie(x.name, x.step, x.time), std::tie(y.name, y.step, y.time));
            ASSERT_EQ(std::bit_cast<std::int64_t>(x.value), std::bit_cast<std::int64_t>(y.value));
        }
    }

    test::TemporaryFolder m_folder;
    std::string m_path = m_folder.file("long.sscope");
};

TEST_F(CopiedRows, AreWhatTheirTablesHold) {
    ASSERT_EQ(copies("steps"), 2 * kSteps);
    ASSERT_EQ(copies("metrics"), 2 * kSteps);
    const RecordingSummary copied = summary();
    EXPECT_EQ(copied.steps.size(), 2U * kSteps);
    EXPECT_TRUE(copied.lostRows.empty());
    change("DELETE FROM packed");
    expectSame(copied, summary());
}

TEST_F(CopiedRows, GoWhenARowOfTheirTableIsChanged) {
    for (const std::string sql :
         {"UPDATE steps SET tokens=8 WHERE step=5", "INSERT INTO metrics VALUES('own', 1, 2, 3)",
          "DELETE FROM metrics WHERE step=3"}) {
        change(sql);
        EXPECT_EQ(copies("steps"), 0);
    }
    EXPECT_EQ(copies("metrics"), 0);
    EXPECT_EQ(summary().steps[10].tokens, 8);
}

TEST_F(CopiedRows, ThatAreDamagedAreNotMissed) {
    const RecordingSummary sound = summary();
    change("UPDATE packed SET data=substr(data, 1, length(data) - 9) WHERE name='steps'");
    change("UPDATE packed SET count=3 WHERE name='metrics'");
    expectSame(sound, summary());
}

TEST_F(CopiedRows, AreMadeAnewByARepair) {
    const std::string repaired = m_folder.file("repaired.sscope");
    const auto account = salvageRecording(m_path, repaired, false);
    ASSERT_THAT(account, IsOk());
    for (const SalvagedTable& table : account->tables) EXPECT_EQ(table.refused, 0U) << table.name;
    const RecordingSummary sound = summary();
    m_path = repaired;
    EXPECT_EQ(copies("steps"), 2 * kSteps);
    expectSame(sound, summary());
}

}  // namespace
}  // namespace shardscope::storage
