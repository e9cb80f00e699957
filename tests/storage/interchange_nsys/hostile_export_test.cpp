// Files that are damaged, or were made to do harm.
#include "tests/storage/interchange_nsys/made_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <iterator>

namespace shardscope {
namespace {

using test::IsOk;
using test::MadeExport;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kRanges = "CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid)";

void expectRefused(const std::string& sql, const std::string& why) {
    MadeExport made(sql);
    const auto account = made.import();
    ASSERT_FALSE(account) << sql;
    EXPECT_EQ(account.error().code, ErrorCode::kUnreadable) << account.error().message;
    EXPECT_THAT(account.error().message, HasSubstr(why));
    EXPECT_THAT(account.error().message, HasSubstr(made.path));
    EXPECT_FALSE(std::ifstream(made.options.output).good());
}

TEST(HostileExport, AViewInATablesPlace) {
    expectRefused(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
        "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n)"
        " SELECT i AS start, i AS end, 'x' AS text FROM n",
        "NVTX_EVENTS is a view in it, not a table");
}

TEST(HostileExport, AVirtualTableInATablesPlace) {
    expectRefused(std::string(kRanges) + ";CREATE VIRTUAL TABLE StringIds USING fts5(id, value)",
                  "StringIds is a virtual table");
}

TEST(HostileExport, Triggers) {
    expectRefused(std::string(kRanges) +
                      ";CREATE TRIGGER boom AFTER INSERT ON NVTX_EVENTS BEGIN SELECT 1; END",
                  "it has a trigger (boom)");
}

TEST(HostileExport, ComputedColumns) {
    expectRefused("CREATE TABLE NVTX_EVENTS (start INT, end INT, text TEXT AS (hex(start)))",
                  "column text of table NVTX_EVENTS is computed");
}

TEST(HostileExport, TablesWithoutRowIds) {
    expectRefused("CREATE TABLE NVTX_EVENTS (start INT PRIMARY KEY, end INT) WITHOUT ROWID",
                  "NVTX_EVENTS");
    expectRefused("CREATE TABLE NVTX_EVENTS (start INT, rowid INT)", "hides its rows' ids");
}

TEST(HostileExport, AnotherDatabase) {
    expectRefused("CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT)",
                  "no Nsight Systems export");
}

TEST(HostileExport, MoreRanksThanAnyMachineHas) {
    expectRefused(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, globalPid INT, deviceId INT);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000)"
        " INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i, i*16777216, i FROM n",
        "more than 64 processes and devices");
}

TEST(HostileExport, MoreTablesThanAnyExportHas) {
    const std::string many =
        ";PRAGMA writable_schema=ON;WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n"
        " WHERE i<30000) INSERT INTO sqlite_master SELECT 'view','v'||i,'v'||i,0,"
        "'CREATE VIEW v'||i||' AS SELECT ";
    expectRefused(kRanges + many + "1' FROM n", "more than 20000 tables");
    // Each takes a good deal of memory.
    expectRefused(kRanges + many + "1'||replace(hex(zeroblob(1900)),'00',',1') FROM n",
                  "its schema is larger than 64 MiB");
}

TEST(HostileExport, AnExportWithinGzip) {
    MadeExport made(test::schema3());
    std::ifstream in(made.path, std::ios::binary);
    const std::string whole(std::istreambuf_iterator<char>(in), {});
    const std::string packed = made.folder.file("made.sqlite.gz");
    const gzFile file = gzopen(packed.c_str(), "wb");
    gzwrite(file, whole.data(), static_cast<unsigned>(whole.size()));
    gzclose(file);
    const auto account = made.import({packed});
    ASSERT_FALSE(account);
    EXPECT_THAT(account.error().message, HasSubstr("within gzip: unpack it first"));
}

TEST(HostileExport, AValueLargerThanMemoryShouldHold) {
    expectRefused(std::string(kRanges) +
                      ";INSERT INTO NVTX_EVENTS VALUES (1,2,59,"
                      "CAST(zeroblob(68000000) AS TEXT),1)",
                  "damaged or truncated in table NVTX_EVENTS");
}

TEST(HostileExport, CellsOfAnyType) {
    MadeExport made(
        std::string(kRanges) +
        ";INSERT INTO NVTX_EVENTS VALUES ('soon',2,59,'a',1),(NULL,2,59,'b',1),(x'00',2,59,'c',1),"
        "(1,'2',59,'d',1),(1.5,2,59,'e',1),(9e999,2,59,'f',1),"
        "(9223372036854775807,9223372036854775807,59,'g',1),"
        "(-9223372036854775808,5,59,'h',1),(-1152921504606846976,1152921504606846976,59,'i',1),"
        "(5,9,'push',x'ff','me'),(9,5,59,NULL,NULL),(6,7,59,12,1),(7,8,59,'good',1)");
    const auto account = made.import();
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->read, 13u);
    EXPECT_EQ(account->rejections.at("no time, or one that is no whole number"), 6u);
    EXPECT_EQ(account->rejections.at("a time out of range"), 3u);
    EXPECT_EQ(account->kept + account->rejected(), account->read);
    EXPECT_EQ(account->repairs.at("an end before its start"), 1u);
    EXPECT_THAT(made.rows("SELECT name, duration_ns FROM events WHERE name='good'"),
                ElementsAre("good|1"));
}

TEST(HostileExport, TextsAreCutMendedAndCounted) {
    MadeExport made(std::string(kRanges) +
                    ";INSERT INTO NVTX_EVENTS VALUES (1,2,59,CAST(zeroblob(3000000) AS TEXT),1),"
                    "(2,3,59,CAST(x'61ff62' AS TEXT),1),(3,4,59,CAST(x'610062' AS TEXT),1)");
    const auto account = made.import();
    ASSERT_THAT(account, IsOk());
    EXPECT_THAT(account->notes.front(), HasSubstr("3 texts were longer than 64 KiB"));
    EXPECT_THAT(made.rows("SELECT length(name), substr(name,1,3) FROM events ORDER BY start_ns"),
                ElementsAre("65539|   ", "3|a?b", "3|a b"));
}

/// Ranges that cross each other, hold each other and never end.
TEST(HostileExport, RangesThatDoNotNest) {
    MadeExport made(std::string(kRanges) +
                    ";INSERT INTO NVTX_EVENTS VALUES (10,30,59,'a',1),(20,40,59,'b',1),"
                    "(10,30,59,'a',1),(15,NULL,59,'open',1),(35,36,35,'push',1)");
    const auto account = made.import();
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->repairs.at("a range without an end, ended with the trace"), 1u);
    EXPECT_THAT(
        made.rows("SELECT name, start_ns, end_ns, depth FROM events ORDER BY start_ns, depth"),
        ElementsAre("a|0|20|0", "a|0|20|1", "open|5|30|2", "b|10|30|3"));
}

TEST(HostileExport, OneByteAfterTheOtherIsDamaged) {
    MadeExport made(test::schema3());
    std::ifstream in(made.path, std::ios::binary);
    const std::string whole(std::istreambuf_iterator<char>(in), {});
    std::size_t readable = 0, refused = 0;
    // Every 997th byte, and the file cut there.
    for (std::size_t at = 20; at < whole.size(); at += 997) {
        for (const bool cut : {false, true}) {
            std::string damaged = cut ? whole.substr(0, at) : whole;
            if (!cut) damaged[at] = static_cast<char>(~damaged[at]);
            std::ofstream(made.folder.file("damaged.sqlite"), std::ios::binary) << damaged;
            made.options.overwrite = true;
            const auto account = made.import({made.folder.file("damaged.sqlite")});
            if (account) {
                EXPECT_EQ(account->kept + account->rejected(), account->read) << at;
                ++readable;
                continue;
            }
            EXPECT_EQ(account.error().code, ErrorCode::kUnreadable)
                << at << ": " << account.error().message;
            ++refused;
        }
    }
    EXPECT_GT(readable, 0u);
    EXPECT_GT(refused, 0u);
}

/// Interior pages of a table that all refer to one leaf: without a check there is no end.
TEST(HostileExport, PagesInCircles) {
    MadeExport made(
        "CREATE TABLE NVTX_EVENTS (start INT, end INT, text TEXT);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<2000)"
        " INSERT INTO NVTX_EVENTS SELECT i, i+1, printf('range %0200d', i) FROM n");
    std::fstream file(made.path, std::ios::binary | std::ios::in | std::ios::out);
    std::string page(4096, '\0');
    file.seekg(4096);
    file.read(page.data(), 4096);
    ASSERT_EQ(page[0], 5) << "the table's root is an interior page";
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(page[at]); };
    const std::size_t cells = byte(3) * 256u + byte(4);
    const std::size_t first = byte(12) * 256u + byte(13);
    for (std::size_t i = 1; i < cells; ++i) {
        const std::size_t cell = byte(12 + 2 * i) * 256u + byte(13 + 2 * i);
        for (std::size_t k = 0; k < 4; ++k) page[cell + k] = page[first + k];
    }
    file.seekp(4096);
    file.write(page.data(), 4096);
    file.close();
    const auto account = made.import();
    ASSERT_FALSE(account);
    EXPECT_EQ(account.error().code, ErrorCode::kUnreadable);
    EXPECT_THAT(account.error().message, HasSubstr("rows of table NVTX_EVENTS come twice"));
}

/// A journal beside the file must not be applied to it, nor removed.
TEST(HostileExport, WhatLiesBesideTheFileIsLeftAlone) {
    MadeExport made(test::schema3());
    std::ofstream(made.path + "-journal", std::ios::binary) << std::string(8192, 'j');
    ASSERT_THAT(made.import(), IsOk());
    EXPECT_TRUE(std::ifstream(made.path + "-journal").good());
}

}  // namespace
}  // namespace shardscope
