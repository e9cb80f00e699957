// Tables as they are declared in C++, as the .sql files make them and as FORMAT.md describes them.
#include "storage/model/host_facts.h"
#include "storage/model/process_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/file/argument_form.h"
#include "storage/recording/file/row_rules.h"
#include "storage/recording/file/row_sql.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/sqlite/connection.h"
#include "tests/storage/recording/unpacked.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>

namespace shardscope::storage {
namespace {

using test::IsOk;
using testing::ElementsAreArray;
using testing::HasSubstr;

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> names;
    std::istringstream in(list);
    for (std::string name; std::getline(in >> std::ws, name, ',');) names.push_back(name);
    return names;
}

template <class Row>
class Tables : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_THAT(test::writeSampleRecording(m_path, {.steps = 2, .gpu = true, .program = true}),
                    IsOk());
        m_connection.emplace(*Connection::open(m_path, Connection::Mode::kCreate));
        ASSERT_THAT(unpackInPlace(*m_connection), IsOk());
    }
    test::TemporaryFolder m_folder;
    std::string m_path = m_folder.file("run.sscope");
    std::optional<Connection> m_connection;
};

using Rows =
    testing::Types<RunFacts, HostFacts, RankFacts, DeviceFacts, LaneFacts, StepFacts, MetricPoint,
                   MemoryTheory, DetailFacts, Diagnostic, ClockFacts, FactRow, ProcessFacts>;
TYPED_TEST_SUITE(Tables, Rows);

TYPED_TEST(Tables, HaveTheColumnsOfTheSqlFiles) {
    auto made = this->m_connection->columnsOf(tableOf<TypeParam>().name);
    ASSERT_THAT(made, IsOk());
    // The number of a row is nobody's member.
    std::erase(*made, "id");
    std::vector<std::string> declared = split(columnList(tableOf<TypeParam>()));
    for (const std::string& name : split(tableOf<TypeParam>().more)) declared.push_back(name);
    std::erase(declared, "id");
    EXPECT_THAT(*made, ElementsAreArray(declared));
}

TYPED_TEST(Tables, AreDescribedColumnByColumn) {
    std::ifstream page(SHARDSCOPE_FORMAT_PAGE);
    const std::string front = std::string("| `") + tableOf<TypeParam>().name + "` |";
    std::string line;
    while (std::getline(page, line) && !line.starts_with(front)) {
    }
    ASSERT_TRUE(line.starts_with(front));
    for (const std::string& name : split(columnList(tableOf<TypeParam>())))
        EXPECT_THAT(line, HasSubstr("`" + name + "`"));
    for (const std::string& name : split(tableOf<TypeParam>().more))
        EXPECT_THAT(line, HasSubstr("`" + name + "`"));
}

TYPED_TEST(Tables, ComeBackAsTheyWereWritten) {
    const auto rows = readRows<TypeParam>(*this->m_connection);
    ASSERT_THAT(rows, IsOk());
    const std::string table = tableOf<TypeParam>().name;
    EXPECT_EQ(static_cast<std::int64_t>(rows->size()),
              *this->m_connection->integer("SELECT count(*) FROM " + table));
    // Into an empty copy of the table and out of it.
    ASSERT_THAT(this->m_connection->execute("CREATE TEMP TABLE kept AS SELECT " +
                                            columnList(tableOf<TypeParam>()) + " FROM " + table +
                                            "; DELETE FROM " + table),
                IsOk());
    auto insert = this->m_connection->prepare(insertSql(tableOf<TypeParam>()));
    ASSERT_THAT(insert, IsOk());
    for (const TypeParam& row : *rows) ASSERT_THAT(bindRow(*insert, row).run(), IsOk());
    EXPECT_EQ(
        *this->m_connection->integer("SELECT count(*) FROM (SELECT * FROM kept EXCEPT SELECT " +
                                     columnList(tableOf<TypeParam>()) + " FROM " + table + ")"),
        0);
}

TYPED_TEST(Tables, OfASoundRecordingBreakNoRule) {
    for (const TableRules& table : tableRules()) {
        if (table.table != tableOf<TypeParam>().name) continue;
        for (const RowRule& rule : table.rules)
            EXPECT_EQ(*this->m_connection->integer("SELECT count(*) FROM " + table.table +
                                                   " WHERE " + rule.broken),
                      0)
                << table.table << " " << rule.sentence;
    }
}

TEST(RowSql, AnEnumeratorThatDoesNotExistHasNoWord) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path, {.steps = 1}), IsOk());
    auto connection = Connection::open(path, Connection::Mode::kCreate);
    ASSERT_THAT(connection->execute("UPDATE lanes SET role=257"), IsOk());
    const auto lanes = readRows<LaneFacts>(*connection);
    ASSERT_THAT(lanes, IsOk());
    for (const LaneFacts& lane : *lanes) EXPECT_STREQ(toWord(lane.role), "unknown");
}

/// Of a format that did not have some of its columns yet.
TEST(RowSql, ColumnsThatCameLaterKeepTheirDefaults) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path, {.steps = 2, .program = true}), IsOk());
    const auto now = (*openRecording(path))->summary();
    ASSERT_THAT(now, IsOk());
    auto connection = Connection::open(path, Connection::Mode::kCreate);
    ASSERT_THAT(connection->execute("ALTER TABLE steps DROP COLUMN core_wait_ns;"
                                    "ALTER TABLE steps DROP COLUMN stolen_ns;"
                                    "ALTER TABLE steps DROP COLUMN busy_ns;"
                                    "DROP TABLE facts; DROP TABLE processes;"
                                    "PRAGMA user_version=2001"),
                IsOk());
    const auto steps = readRows<StepFacts>(*connection);
    ASSERT_THAT(steps, IsOk());
    ASSERT_EQ(steps->size(), now->steps.size());
    for (std::size_t i = 0; i < steps->size(); ++i) {
        EXPECT_NE(now->steps[i].coreWaitNs, -1);
        EXPECT_EQ((*steps)[i].coreWaitNs, -1);
        EXPECT_EQ((*steps)[i].stolenNs, -1);
        EXPECT_EQ((*steps)[i].busyNs, -1);
        EXPECT_EQ((*steps)[i].residentSet, now->steps[i].residentSet);
    }
    const auto before = (*openRecording(path))->summary();
    ASSERT_THAT(before, IsOk());
    EXPECT_EQ(before->steps.size(), now->steps.size());
    EXPECT_FALSE(now->processes.empty());
    EXPECT_TRUE(before->processes.empty());
    // One that every format has is not made up.
    ASSERT_THAT(connection->execute("ALTER TABLE steps DROP COLUMN tokens"), IsOk());
    EXPECT_THAT(readRows<StepFacts>(*connection), test::FailsWith("tokens"));
}

TEST(RowRules, NameTheColumnsOfTheirSentences) {
    EXPECT_THAT(columnsIn("step {step} of rank {rank}"), testing::ElementsAre("step", "rank"));
    EXPECT_THAT(columnsIn("the run"), testing::IsEmpty());
}

std::optional<std::string> filled(std::string_view form, std::vector<std::int64_t> values) {
    std::string json;
    const auto textOf = [](StringId id) -> std::optional<std::string_view> {
        if (id.value == 9) return "[1,\"#\"]";
        if (id.value == 10) return "{\"name\":\"f\"}";
        if (id.value == 20) return "10 9 10";
        if (id.value == 21) return "10 8";
        if (id.value == 22) return "10  9";
        return std::nullopt;
    };
    if (!appendArguments(json, form, values, textOf)) return std::nullopt;
    return json;
}

TEST(ArgumentForm, ValuesStandAtTheirMarks) {
    EXPECT_EQ(filled(R"({"a":#,"b":%,"c":@})", {-5, 1250, 3, 9}),
              R"({"a":-5,"b":1.250,"c":[1,"#"]})");
    EXPECT_EQ(filled("{}", {}), "{}");
    EXPECT_EQ(filled("@", {9}), "[1,\"#\"]");
}

TEST(ArgumentForm, MarksWithinKeysAreText) {
    EXPECT_EQ(filled(R"({"%#@\"#":#})", {1}), R"({"%#@\"#":1})");
    EXPECT_EQ(countValues(R"({"occupancy %":#,"b":%,"c":@})"), 4u);
    const auto values = textValues(R"({"a":@,"b":%,"c":^})");
    ASSERT_EQ(values.size(), 2u);
    EXPECT_EQ(values[0].value, 0u);
    EXPECT_FALSE(values[0].list);
    EXPECT_EQ(values[1].value, 3u);
    EXPECT_TRUE(values[1].list);
}

TEST(ArgumentForm, ListsNameTheTextsOfTheirElements) {
    EXPECT_EQ(filled(R"({"frames":^})", {20}), R"({"frames":[{"name":"f"},[1,"#"],{"name":"f"}]})");
    EXPECT_EQ(filled("^", {21}), std::nullopt);
    EXPECT_EQ(filled("^", {22}), std::nullopt);
    EXPECT_EQ(filled("^", {8}), std::nullopt);
    EXPECT_EQ(idsIn("")->size(), 0u);
    for (const char* bad : {" ", "1 ", " 1", "x", "1 x", "-1", "99999999999"})
        EXPECT_EQ(idsIn(bad), std::nullopt) << bad;
}

TEST(ArgumentForm, DecimalsKeepTheirZeros) {
    EXPECT_EQ(filled("%", {5, 1}), "0.5");
    EXPECT_EQ(filled("%", {-5, 3}), "-0.005");
    EXPECT_EQ(filled("%", {0, 2}), "0.00");
    EXPECT_EQ(filled("%", {1'000, 2}), "10.00");
}

TEST(ArgumentForm, WrongValuesAreRefused) {
    EXPECT_EQ(filled("{\"a\":#}", {}), std::nullopt);
    EXPECT_EQ(filled("{\"a\":#}", {1, 2}), std::nullopt);
    EXPECT_EQ(filled("%", {1, 0}), std::nullopt);
    EXPECT_EQ(filled("%", {1, 1'000'000}), std::nullopt);
    EXPECT_EQ(filled("%", {std::numeric_limits<std::int64_t>::min(), 3}), std::nullopt);
    EXPECT_EQ(filled("@", {8}), std::nullopt);
    EXPECT_EQ(filled("@", {-1}), std::nullopt);
}

}  // namespace
}  // namespace shardscope::storage
