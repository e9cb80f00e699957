// nsys -> recording -> nsys -> recording.
#include "tests/storage/interchange_nsys/made_export.h"
#include "tests/support/sample_recording.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace shardscope {
namespace {

using test::IsOk;
using test::MadeExport;

void expectSameAfterTheWayBack(MadeExport& first) {
    MadeExport second("");
    ASSERT_THAT(first.exportTo(second.path), IsOk());
    const auto account = second.import();
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->rejected(), 0u);
    EXPECT_EQ(account->repaired, 0u);
    const auto before = test::spansOf(first), after = test::spansOf(second);
    ASSERT_FALSE(before.empty());
    EXPECT_EQ(before, after);
    ASSERT_EQ(first.summary.devices.size(), second.summary.devices.size());
    for (std::size_t i = 0; i < first.summary.devices.size(); ++i) {
        EXPECT_EQ(first.summary.devices[i].name, second.summary.devices[i].name);
        EXPECT_EQ(first.summary.devices[i].uuid, second.summary.devices[i].uuid);
        EXPECT_EQ(first.summary.devices[i].memory, second.summary.devices[i].memory);
    }
    EXPECT_EQ(first.rows("SELECT rank, pid, device FROM ranks"),
              second.rows("SELECT rank, pid, device FROM ranks"));
}

/// Names of categories and domains are the one thing that has no row of its own again.
std::string withoutNames(std::string sql) {
    for (const char* named : {"(1000,NULL,75", "(1000,NULL,33"}) {
        const std::size_t at = sql.find(named), end = sql.find("),(", at);
        sql.erase(at, end + 2 - at);
    }
    return sql;
}

TEST(NsysRoundTrip, Schema3) {
    MadeExport made(withoutNames(test::schema3()));
    ASSERT_THAT(made.import(), IsOk());
    expectSameAfterTheWayBack(made);
}

TEST(NsysRoundTrip, Schema2) {
    MadeExport made(withoutNames(test::schema2()));
    ASSERT_THAT(made.import(), IsOk());
    expectSameAfterTheWayBack(made);
}

TEST(NsysRoundTrip, TheRealExport) {
    const std::string path = std::string(SHARDSCOPE_SHARED_TRACES) + "/nsys_h100_2gpu_1s.sqlite";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "the sample " << path << " is not here";
    MadeExport real("");
    ASSERT_THAT(real.import({path}), IsOk());
    expectSameAfterTheWayBack(real);
}

/// A recording of our own keeps every kernel, copy and call, with names, times and launches.
TEST(NsysRoundTrip, ARecordingOfOurOwn) {
    MadeExport own(""), back("");
    ASSERT_THAT(test::writeSampleRecording(own.options.output, {.steps = 3, .gpu = true}), IsOk());
    auto opened = storage::openRecording(own.options.output);
    ASSERT_THAT(opened, IsOk());
    own.reader = std::move(*opened);
    own.summary = *own.reader->summary();
    ASSERT_THAT(own.exportTo(back.path), IsOk());
    ASSERT_THAT(back.import(), IsOk());
    const std::string zero = " + (SELECT started_unix_ns FROM run)";
    for (const std::string role : {"compute", "communication", "copy", "runtime"}) {
        // An export has a kernel's whole name, which our own recordings keep beside a short one.
        const std::string sql =
            "SELECT rank, CASE json_valid(arguments) WHEN 1 THEN COALESCE(json_extract("
            "arguments, '$.kernel'), name) ELSE name END, start_ns" +
            zero + ", duration_ns FROM events WHERE lane >= 4096 AND lane < 12288 AND role='" +
            role + "' AND name NOT LIKE '%buffer%' ORDER BY 1,3,2";
        const auto rows = own.rows(sql);
        EXPECT_GT(rows.size(), 0u) << role;
        EXPECT_EQ(rows, back.rows(sql)) << role;
    }
    const std::string launches =
        "SELECT rank, r.name, count(*) FROM events r JOIN kernels k USING (rank, correlation)"
        " WHERE r.role='runtime' AND r.correlation > 0 GROUP BY 1, 2 ORDER BY 1, 2";
    EXPECT_EQ(own.rows(launches), back.rows(launches));
}

}  // namespace
}  // namespace shardscope
