#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/read/schema_tables.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

namespace shardscope::storage {
namespace {

using test::FailsAs;
using test::FailsWith;
using test::IsOk;

/// One recording for all tests of this file: they only read.
class Query : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        s_folder = new test::TemporaryFolder;
        ASSERT_THAT(test::writeSampleRecording(path(), {.steps = 4}), IsOk());
    }
    static void TearDownTestSuite() {
        delete s_folder;
        s_folder = nullptr;
    }
    static std::string path() { return s_folder->file("run.sscope"); }

    Result<TableResult> ask(const std::string& sql) { return m_reader.value()->query(sql); }
    /// First cell of the answer.
    std::string cell(const std::string& sql) {
        const auto table = ask(sql);
        if (!table) return table.error().message;
        return table->rows.at(0).at(0).value_or("NULL");
    }

    Result<std::unique_ptr<RecordingReader>> m_reader = openRecording(path());

private:
    static test::TemporaryFolder* s_folder;
};
test::TemporaryFolder* Query::s_folder = nullptr;

TEST_F(Query, WritesBlobsAsSqlDoes) {
    EXPECT_EQ(cell("SELECT x'00ff10'"), "x'00ff10'");
    EXPECT_EQ(cell("SELECT x''"), "x''");
}

TEST_F(Query, ReadsTheSchemaOfAnyRecording) {
    const std::string columns = "SELECT count(*) FROM pragma_table_info('steps')";
    EXPECT_NE(cell(columns), "0");
    // of an unfinished one the rows are in tables, not in views
    const std::string unfinished = path() + ".unfinished";
    ASSERT_THAT(test::writeSampleRecording(unfinished, {.steps = 1, .finalise = false}), IsOk());
    const auto reader = openRecording(unfinished);
    ASSERT_THAT(reader, IsOk());
    EXPECT_THAT((*reader)->query(columns), IsOk());
    EXPECT_THAT((*reader)->query("SELECT name FROM pragma_table_list"), IsOk());
}

TEST_F(Query, EveryColumnOfTheSchemaCanBeRead) {
    const std::string growing = path() + ".growing";
    ASSERT_THAT(test::writeSampleRecording(growing, {.steps = 1, .finalise = false}), IsOk());
    for (const std::string& file : {path(), growing}) {
        const auto reader = openRecording(file);
        ASSERT_THAT(reader, IsOk());
        const auto tables = readSchema(**reader);
        ASSERT_THAT(tables, IsOk());
        EXPECT_TRUE(std::is_sorted(tables->begin(), tables->end(),
                                   [](const auto& a, const auto& b) { return a.name < b.name; }));
        for (const char* name : {"events", "kernels", "operators", "run", "steps"})
            EXPECT_EQ(std::count_if(tables->begin(), tables->end(),
                                    [&](const auto& table) { return table.name == name; }),
                      1)
                << name;
        for (const SchemaTable& table : *tables) {
            EXPECT_FALSE(table.name.starts_with("sqlite_")) << table.name;
            auto once = table.columns;
            std::sort(once.begin(), once.end());
            EXPECT_EQ(std::adjacent_find(once.begin(), once.end()), once.end()) << table.name;
            for (const std::string& column : table.columns)
                EXPECT_THAT((*reader)->query("SELECT \"" + table.name + "\".\"" + column +
                                             "\" FROM \"" + table.name + "\" LIMIT 1"),
                            IsOk());
        }
    }
}

TEST_F(Query, StopsAtTheRowsThatAreWanted) {
    const std::string sql = "SELECT start_ns FROM events";
    const auto all = m_reader.value()->query(sql);
    const auto some = m_reader.value()->query(sql, 10);
    ASSERT_THAT(some, IsOk());
    EXPECT_EQ(some->rows.size(), 10u);
    EXPECT_TRUE(some->cut);
    EXPECT_FALSE(all->cut);
    const auto exactly = m_reader.value()->query(sql, all->rows.size());
    EXPECT_FALSE(exactly->cut) << "there is no other row";
}

TEST_F(Query, EndsOnceItIsSuperseded) {
    Generations generations;
    const Generation old = generations.next();
    generations.supersede();
    const auto endless = m_reader.value()->query(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n", 0,
        old);
    EXPECT_THAT(endless, FailsAs(ErrorCode::kCancelled));
    EXPECT_EQ(cell("SELECT 1"), "1") << "the next one is answered";
}

TEST_F(Query, CountsEventsAsTheSummaryDoes) {
    const auto summary = m_reader.value()->summary();
    const auto& events = summary->events;
    EXPECT_EQ(cell("SELECT count(*) FROM events"),
              std::to_string(events.spans + events.memory + events.counters));
    EXPECT_EQ(cell("SELECT count(*) FROM events WHERE kind='memory'"),
              std::to_string(events.memory));
    EXPECT_EQ(cell("SELECT count(*) FROM collectives"), std::to_string(events.collectives));
    EXPECT_EQ(cell("SELECT count(*) FROM steps"), "8");
}

TEST_F(Query, ConstraintsGiveWhatAFullScanGives) {
    const std::regex kColumns("\\b(rank|lane|lane_name|kind|role|name|start_ns|end_ns)\\b");
    // A unary plus keeps SQLite from pushing the constraint down.
    for (const char* where : {"rank=1",
                              "lane=2",
                              "lane<>2",
                              "kind='span'",
                              "role='compute'",
                              "start_ns<900000000",
                              "start_ns>=900000000 AND start_ns<1800000000",
                              "end_ns>1500000000 AND rank<1",
                              "lane IS NULL",
                              "role IS NULL",
                              "start_ns BETWEEN 800000000 AND 1e9",
                              "kind IN ('memory','counter')",
                              "lane>1 OR rank=0",
                              "5>lane",
                              "start_ns<'x'",
                              "name='aten::addmm'",
                              "name=''",
                              "name='no such name'",
                              "name='CPU time'",
                              "lane_name='operators'",
                              "lane_name IS NULL",
                              "name='aten::addmm' AND rank=1 AND start_ns>900000000",
                              "name<'b'",
                              "start_ns=end_ns AND start_ns>900000000"}) {
        const std::string scan = std::regex_replace(std::string(where), kColumns, "+$1");
        const std::string count = "SELECT count(*), total(start_ns) FROM events WHERE ";
        const auto pushed = ask(count + where);
        const auto scanned = ask(count + scan);
        ASSERT_THAT(pushed, IsOk());
        ASSERT_THAT(scanned, IsOk()) << scan;
        EXPECT_EQ(pushed->rows, scanned->rows) << where;
    }
}

TEST_F(Query, ViewsShowWhatTheirNamesSay) {
    EXPECT_EQ(cell("SELECT count(*) FROM operators"),
              cell("SELECT count(*) FROM events WHERE lane=2"));
    EXPECT_EQ(cell("SELECT count(*) FROM phases"),
              cell("SELECT count(*) FROM events WHERE lane=1"));
    EXPECT_EQ(cell("SELECT count(*) FROM kernels"), "0");
    EXPECT_EQ(cell("SELECT count(*) FROM memory_events"),
              cell("SELECT count(*) FROM events WHERE kind='memory'"));
    EXPECT_EQ(cell("SELECT name FROM counters LIMIT 1"), "resident set");
    EXPECT_EQ(cell("SELECT category FROM memory_events WHERE time_ns=200000000 LIMIT 1"),
              "parameter shards");
}

TEST_F(Query, JoinsEventsWithCollectives) {
    EXPECT_EQ(cell("SELECT count(*) FROM collectives c JOIN events e ON e.rank=c.rank AND"
                   " e.role='communication' AND e.correlation=c.sequence"
                   " WHERE e.start_ns=c.start_ns AND e.end_ns=c.end_ns"),
              cell("SELECT count(*) FROM collectives"));
}

TEST_F(Query, CollectivesAndStepsSayHowLong) {
    EXPECT_EQ(cell("SELECT count(*) FROM collectives WHERE duration_ns<>end_ns-start_ns"), "0");
    EXPECT_EQ(cell("SELECT DISTINCT algorithm FROM collectives"), "direct");
    EXPECT_EQ(cell("SELECT min(waiting_ns)>=0 FROM collectives"), "1");
    EXPECT_EQ(cell("SELECT sum(duration_ns)=sum(end_ns)-sum(start_ns) FROM steps"), "1");
}

TEST_F(Query, KnowsTypesAndAllDigits) {
    const auto table = ask("SELECT 1, 0.1+0.2, 'x', NULL, 1e300*1e10, 2.5, -9223372036854775808");
    ASSERT_THAT(table, IsOk());
    using Type = TableResult::CellType;
    EXPECT_EQ(table->types[0],
              (std::vector<Type>{Type::kInteger, Type::kReal, Type::kText, Type::kNull, Type::kReal,
                                 Type::kReal, Type::kInteger}));
    EXPECT_EQ(table->rows[0][1], "0.30000000000000004");
    EXPECT_EQ(table->rows[0][5], "2.5");
    EXPECT_EQ(table->rows[0][6], "-9223372036854775808");
}

TEST_F(Query, RefusesEverythingButReading) {
    for (const char* sql :
         {"DELETE FROM steps", "INSERT INTO meta VALUES('a','b')", "UPDATE run SET status=1",
          "CREATE TABLE t(a)", "CREATE TEMP TABLE t(a)", "DROP VIEW operators",
          "ATTACH '/tmp/other' AS other", "PRAGMA query_only=OFF", "PRAGMA journal_mode=DELETE",
          "VACUUM", "BEGIN", "SELECT load_extension('x')"})
        EXPECT_THAT(ask(sql), FailsAs(ErrorCode::kUsage)) << sql;
}

TEST_F(Query, PassesOnWhatSqliteSays) {
    EXPECT_THAT(ask("SELEC 1"), FailsWith("syntax error"));
    EXPECT_THAT(ask("SELECT absent FROM steps"), FailsWith("no such column"));
    EXPECT_THAT(ask(""), FailsWith("empty"));
    EXPECT_THAT(ask("SELECT 1; SELECT 2"), FailsWith("one SQL statement at a time"));
}

TEST_F(Query, GivesNamesAndNulls) {
    const auto table = ask("SELECT 1 AS one, NULL AS absent, 'x' AS text");
    ASSERT_THAT(table, IsOk());
    EXPECT_EQ(table->columns, (std::vector<std::string>{"one", "absent", "text"}));
    EXPECT_EQ(table->rows[0][0], "1");
    EXPECT_FALSE(table->rows[0][1].has_value());
}

}  // namespace
}  // namespace shardscope::storage
