// Queries written for exports of Nsight Systems, on what is exported here.
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/storage/interchange_nsys/made_export.h"
#include "tests/support/formats.h"
#include "tests/support/sample_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace shardscope {
namespace {

using test::IsOk;
using test::MadeExport;
using test::rowsOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ExportedSchema3 : public ::testing::Test {
protected:
    ExportedSchema3() : made(test::schema3()), output(made.folder.file("again.sqlite")) {
        EXPECT_THAT(made.import(), IsOk());
        account = made.exportTo(output);
        EXPECT_THAT(account, IsOk());
    }
    MadeExport made;
    std::string output;
    Result<interchange::ExportAccount> account;
};

TEST_F(ExportedSchema3, KernelSummary) {
    EXPECT_THAT(
        rowsOf(output,
               "SELECT s.value, count(*), sum(k.end - k.start), min(k.gridX), max(k.blockX)"
               " FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.shortName"
               " GROUP BY 1 ORDER BY 3"),
        ElementsAre("gemm|1|100|132|384", "ncclDevKernel_AllReduce_Sum_f32_RING_LL|1|140|16|512"));
}

TEST_F(ExportedSchema3, LaunchesOfKernelsByCorrelationAndProcess) {
    EXPECT_THAT(
        rowsOf(output,
               "SELECT a.value, n.value, k.start - r.end FROM CUPTI_ACTIVITY_KIND_KERNEL k"
               " JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON k.correlationId = r.correlationId"
               " AND r.globalTid / 0x1000000 = k.globalPid / 0x1000000"
               " JOIN StringIds a ON a.id = r.nameId JOIN StringIds n ON n.id = k.demangledName"
               " ORDER BY k.start"),
        ElementsAre("cudaLaunchKernel_v7000|void gemm<float>(float*)|70",
                    "cuLaunchKernelEx|ncclDevKernel_AllReduce_Sum_f32_RING_LL("
                    "ncclDevKernelArgsStorage<4096>)|90"));
}

TEST_F(ExportedSchema3, NvtxRangeOfEachKernel) {
    EXPECT_THAT(
        rowsOf(output,
               "SELECT COALESCE(n.text, t.value), s.value FROM NVTX_EVENTS n"
               " JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.globalTid = n.globalTid"
               " AND n.start <= r.start AND n.end >= r.end"
               " JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.correlationId = r.correlationId"
               " JOIN StringIds s ON s.id = k.shortName LEFT JOIN StringIds t ON t.id = n.textId"
               " WHERE n.eventType = 59 ORDER BY k.start, n.start"),
        ElementsAre("step 1|gemm", "registered range|gemm",
                    "step 1|ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                    "ncclAllReduce|ncclDevKernel_AllReduce_Sum_f32_RING_LL"));
}

TEST_F(ExportedSchema3, CopiesByKindWithTheEnumTables) {
    EXPECT_THAT(rowsOf(output,
                       "SELECT o.label, a.label, b.label, c.bytes, c.end - c.start"
                       " FROM CUPTI_ACTIVITY_KIND_MEMCPY c"
                       " JOIN ENUM_CUDA_MEMCPY_OPER o ON o.id = c.copyKind"
                       " JOIN ENUM_CUDA_MEM_KIND a ON a.id = c.srcKind"
                       " JOIN ENUM_CUDA_MEM_KIND b ON b.id = c.dstKind"),
                ElementsAre("Host-to-Device|Pinned|Device|4096|100"));
    EXPECT_THAT(rowsOf(output, "SELECT value, bytes, memKind FROM CUPTI_ACTIVITY_KIND_MEMSET"),
                ElementsAre("255|64|2"));
    EXPECT_THAT(rowsOf(output,
                       "SELECT e.label FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION y"
                       " JOIN ENUM_CUPTI_SYNC_TYPE e ON e.id = y.syncType"),
                ElementsAre("Stream sync"));
}

TEST_F(ExportedSchema3, SessionThreadsAndDevices) {
    EXPECT_THAT(rowsOf(output,
                       "SELECT utcEpochNs + k.start - systemClockNs FROM"
                       " TARGET_INFO_SESSION_START_TIME, CUPTI_ACTIVITY_KIND_KERNEL k ORDER BY 1"),
                ElementsAre("1779630014000000600", "1779630014000000650"));
    EXPECT_THAT(rowsOf(output, "SELECT utcTime FROM TARGET_INFO_SESSION_START_TIME"),
                ElementsAre("2026-05-24T13:40:14"));
    EXPECT_THAT(rowsOf(output,
                       "SELECT s.value, t.globalTid / 0x1000000 % 0x1000000,"
                       " t.globalTid % 0x1000000 FROM ThreadNames t JOIN StringIds s ON"
                       " s.id = t.nameId"),
                ElementsAre("python|100|101"));
    EXPECT_THAT(rowsOf(output,
                       "SELECT g.name, g.smCount, c.cudaId, c.pid FROM TARGET_INFO_GPU g"
                       " JOIN TARGET_INFO_CUDA_DEVICE c ON c.gpuId = g.id"),
                ElementsAre("NVIDIA H100|132|0|100"));
    EXPECT_THAT(
        rowsOf(output, "SELECT value FROM META_DATA_EXPORT WHERE name='EXPORT_SCHEMA_VERSION'"),
        ElementsAre("3.25.0"));
}

TEST_F(ExportedSchema3, SaysWhatIsLeftOut) {
    EXPECT_EQ(account->events, 18u);
    EXPECT_THAT(account->files, ElementsAre(output));
    EXPECT_THAT(account->notes, ElementsAre(HasSubstr("counters and memory events are left out")));
}

TEST_F(ExportedSchema3, HonoursRangeAndRanks) {
    interchange::ExportOptions options;
    options.output = made.folder.file("part.sqlite");
    options.range = TimeRange{{300}, {1000}};
    ASSERT_THAT(interchange::exportAs("nsys-sqlite", *made.reader, options), IsOk());
    EXPECT_THAT(rowsOf(options.output, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"),
                ElementsAre("0"));
    EXPECT_THAT(rowsOf(options.output, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY"),
                ElementsAre("1"));
    options.overwrite = true;
    options.ranks = {{7}};
    EXPECT_FALSE(interchange::exportAs("nsys-sqlite", *made.reader, options));
}

TEST_F(ExportedSchema3, AnExportThatIsStoppedLeavesNothing) {
    interchange::ExportOptions options;
    options.output = made.folder.file("stopped.sqlite");
    options.progress = [](double) { return false; };
    const auto stopped = interchange::exportAs("nsys-sqlite", *made.reader, options);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
    for (const auto& entry : std::filesystem::directory_iterator(made.folder.path()))
        EXPECT_THAT(entry.path().string(), ::testing::Not(HasSubstr("stopped")));
    options.progress = nullptr;
    std::ofstream(options.output) << "mine";
    EXPECT_FALSE(interchange::exportAs("nsys-sqlite", *made.reader, options));
    EXPECT_EQ(std::filesystem::file_size(options.output), 4u);
}

/// Phases, operators and steps of the step thread are ranges of the thread that launches.
TEST(NsysExport, OperatorsOfOurOwnRecordingsHoldTheirLaunches) {
    MadeExport own("");
    ASSERT_THAT(test::writeSampleRecording(own.options.output, {.steps = 3, .gpu = true}), IsOk());
    auto opened = storage::openRecording(own.options.output);
    ASSERT_THAT(opened, IsOk());
    own.reader = std::move(*opened);
    const auto account = own.exportTo(own.path);
    ASSERT_THAT(account, IsOk());
    EXPECT_THAT(account->notes, SizeIs(3));
    const auto counts =
        rowsOf(own.path,
               "SELECT (SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL) > 100,"
               " (SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY) > 0,"
               " (SELECT count(DISTINCT deviceId) FROM CUPTI_ACTIVITY_KIND_KERNEL),"
               " (SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE gridX = 0),"
               " (SELECT count(*) FROM NVTX_EVENTS n JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON"
               "  r.globalTid = n.globalTid AND n.start <= r.start AND n.end >= r.end"
               "  WHERE n.text LIKE 'step%') > 0");
    EXPECT_THAT(counts, ElementsAre("1|1|2|0|1"));
}

}  // namespace
}  // namespace shardscope
