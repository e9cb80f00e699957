// nsys -> recording -> nsys -> recording.
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/storage/interchange_nsys/made_export.h"
#include "tests/support/sample_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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
    const std::string marks =
        "SELECT rank, lane_name, name, time_ns + (SELECT started_unix_ns FROM run), scope, step,"
        " arguments FROM instants ORDER BY 1, 4, 2, 3";
    EXPECT_EQ(first.rows(marks), second.rows(marks));
    ASSERT_EQ(first.summary.devices.size(), second.summary.devices.size());
    for (std::size_t i = 0; i < first.summary.devices.size(); ++i) {
        EXPECT_EQ(first.summary.devices[i].name, second.summary.devices[i].name);
        EXPECT_EQ(first.summary.devices[i].uuid, second.summary.devices[i].uuid);
        EXPECT_EQ(first.summary.devices[i].memory, second.summary.devices[i].memory);
    }
    EXPECT_EQ(first.rows("SELECT rank, pid, device FROM ranks"),
              second.rows("SELECT rank, pid, device FROM ranks"));
}

TEST(NsysRoundTrip, Schema3) {
    MadeExport made(test::schema3());
    ASSERT_THAT(made.import(), IsOk());
    expectSameAfterTheWayBack(made);
}

TEST(NsysRoundTrip, Schema2) {
    MadeExport made(test::schema2());
    ASSERT_THAT(made.import(), IsOk());
    expectSameAfterTheWayBack(made);
}

/// Processes of two files that have one number stay two.
TEST(NsysRoundTrip, TwoFiles) {
    MadeExport first(test::schema3()), second(test::schema3()), back("");
    ASSERT_THAT(first.import({first.path, second.path}), IsOk());
    ASSERT_THAT(first.exportTo(back.path), IsOk());
    ASSERT_THAT(back.import(), IsOk());
    const std::string kernels =
        "SELECT rank, name, start_ns + (SELECT started_unix_ns FROM run), correlation FROM kernels"
        " ORDER BY 1, 3";
    EXPECT_EQ(first.rows(kernels), back.rows(kernels));
    EXPECT_EQ(first.rows(kernels).size(), 4u);
}

TEST(NsysRoundTrip, TheRealExport) {
    const std::string path = std::string(SHARDSCOPE_SHARED_TRACES) + "/nsys_h100_2gpu_1s.sqlite";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "the sample " << path << " is not here";
    MadeExport real("");
    ASSERT_THAT(real.import({path}), IsOk());
    expectSameAfterTheWayBack(real);
}

/// What PyTorch's profiler saw: kernels, copies and calls, and operators as ranges.
TEST(NsysRoundTrip, AKinetoTraceAsAnExport) {
    MadeExport trace(""), back("");
    std::ofstream(trace.folder.file("t.json")) << R"J({"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":100,"dur":50,"args":{"Ev Idx":3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":110,"dur":5,
 "args":{"correlation":77}},
{"ph":"X","cat":"kernel","name":"void gemm<float>(int)","pid":1,"tid":7,"ts":130.5,"dur":20.25,
 "args":{"device":1,"context":1,"stream":7,"correlation":77,"registers per thread":40,
 "shared memory":1024,"grid":[8,2,1],"block":[128,1,1]}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":1,"tid":7,"ts":160,
 "dur":1,"args":{"device":1,"context":1,"stream":7,"correlation":78,"bytes":64}},
{"ph":"X","cat":"gpu_memset","name":"Memset (Device)","pid":1,"tid":7,"ts":170,"dur":1,
 "args":{"device":1,"context":1,"stream":7,"correlation":79,"bytes":16}},
{"ph":"i","cat":"cpu_op","name":"a moment","pid":9,"tid":9,"ts":120,"s":"t"},
{"ph":"X","cat":"gpu_user_annotation","name":"step","pid":1,"tid":7,"ts":130,"dur":50}]})J";
    ASSERT_THAT(trace.import({trace.folder.file("t.json")}), IsOk());
    const auto account = trace.exportTo(back.path);
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->events, 6u);
    using ::testing::ElementsAre;
    EXPECT_THAT(test::rowsOf(back.path,
                             "SELECT k.start, k.end, deviceId, streamId, registersPerThread,"
                             " dynamicSharedMemory, gridX, blockX, s.value, r.start, n.text"
                             " FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON"
                             " s.id = shortName JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING"
                             " (correlationId) JOIN NVTX_EVENTS n ON n.globalTid = r.globalTid"
                             " AND n.start <= r.start AND n.end >= r.end"),
                ElementsAre("30500|50750|1|7|40|1024|8|128|gemm|10000|aten::mm"));
    EXPECT_THAT(test::rowsOf(back.path,
                             "SELECT copyKind, srcKind, dstKind, bytes FROM"
                             " CUPTI_ACTIVITY_KIND_MEMCPY"),
                ElementsAre("1|1|2|64"));
    EXPECT_THAT(test::rowsOf(back.path, "SELECT bytes FROM CUPTI_ACTIVITY_KIND_MEMSET"),
                ElementsAre("16"));
    EXPECT_THAT(test::rowsOf(back.path,
                             "SELECT start, end, text FROM NVTX_EVENTS"
                             " WHERE eventType = 34"),
                ElementsAre("20000|NULL|a moment"));
    EXPECT_THAT(back.import(), IsOk());
    EXPECT_THAT(back.rows("SELECT name FROM instants"), ElementsAre("a moment"));
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
