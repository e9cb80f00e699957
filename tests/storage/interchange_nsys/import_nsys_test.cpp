// Made exports of schema 2 and 3 into recordings.
#include "storage/model/rank_facts.h"
#include "tests/storage/interchange_nsys/made_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace shardscope {
namespace {

using test::globalId;
using test::IsOk;
using test::MadeExport;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Schema3 : public ::testing::Test {
protected:
    Schema3() : made(test::schema3()), account(made.import()) { EXPECT_THAT(account, IsOk()); }
    MadeExport made;
    Result<interchange::ImportAccount> account;
};

TEST_F(Schema3, EveryRowIsAccountedFor) {
    EXPECT_EQ(account->read, 25u);
    EXPECT_EQ(account->kept, 24u);
    EXPECT_EQ(account->rejected(), 1u);
    EXPECT_EQ(account->rejections.at("a sample of a metric that has no name"), 1u);
    EXPECT_EQ(account->repaired, 0u);
    EXPECT_THAT(account->notes,
                ElementsAre(HasSubstr("1 records of CUDA events have no time"),
                            HasSubstr("no place for what these tables hold: DIAGNOSTIC_EVENT"),
                            HasSubstr("steps were taken from 1 range named like \"step N\"")));
}

TEST_F(Schema3, StepsAreTheRangesThatNameThem) {
    EXPECT_EQ(made.one("SELECT step, start_ns, end_ns FROM steps"), "1|5|500");
    EXPECT_EQ(made.one("SELECT step FROM kernels WHERE name LIKE '%gemm%'"), "1");
    EXPECT_EQ(made.one("SELECT step FROM events WHERE name='ncclAllReduce'"), "1");
    EXPECT_EQ(made.one("SELECT count(*) FROM events WHERE kind='span' AND start_ns >= 500"
                       " AND step IS NOT NULL AND correlation = 0"),
              "0");
}

TEST_F(Schema3, TimeZeroIsTheFirstEventAndItsWallClockIsKnown) {
    // The session began at 500 on the system's clock, the first event is at 1000.
    EXPECT_EQ(made.summary.run.startedUnixNs, 1'779'630'014'000'000'500);
    EXPECT_EQ(made.one("SELECT start_ns, duration_ns FROM kernels WHERE name LIKE '%gemm%'"),
              "100|100");
}

TEST_F(Schema3, LanesHaveOneRoleEach) {
    EXPECT_THAT(
        made.rows("SELECT name, role FROM lanes WHERE lane < 65536 ORDER BY position, name"),
        ElementsAre("thread 101 (python): NVTX|7", "thread 101 (python): NVTX NCCL|7",
                    "thread 101 (python): NVTX, marks|7", "thread 101 (python): NVTX, ranges|7",
                    "thread 101 (python): CUDA calls|5", "GPU 0 stream 7: waits|6",
                    "GPU 0 stream 7: events|6", "thread 101 (python): CUDA overhead|4",
                    "thread 101 (python): graph calls|4", "GPU 0 stream 7|1",
                    "GPU 0 stream 20: NCCL|2", "GPU 0 stream 7: copies|3", "GPU 0 stream 7: sets|3",
                    "GPU 0 stream 7: graphs|1", "GPU 0 SMs Active [Throughput %]|8"));
}

TEST_F(Schema3, KernelsSayHowTheyWereLaunched) {
    EXPECT_EQ(
        made.one("SELECT name, correlation, arguments FROM kernels WHERE name LIKE '%gemm%'"),
        "void gemm<float>(float*)|7|"
        R"({"device":0,"context":1,"stream":7,"short_name":"gemm","mangled_name":"_Z4gemm",)"
        R"("launch":"regular","registers":32,"grid":[132,2,1],"block":[384,1,1],)"
        R"("static_shared_bytes":16,"dynamic_shared_bytes":1024,"grid_id":42,"cluster":[2,1,1],)"
        R"("shared_bytes":1040})");
}

TEST_F(Schema3, KernelsOfNcclAreCommunication) {
    EXPECT_EQ(made.one("SELECT lane_name, correlation FROM events WHERE role='communication'"),
              "GPU 0 stream 20: NCCL|8");
}

TEST_F(Schema3, CallsJoinWhatTheyLaunch) {
    EXPECT_THAT(made.rows("SELECT r.name, d.name FROM events r JOIN events d USING (correlation)"
                          " WHERE r.role='runtime' AND d.role IN ('compute','communication','copy')"
                          " AND d.name NOT LIKE 'CUDA graph' ORDER BY d.start_ns"),
                ElementsAre("cudaLaunchKernel|void gemm<float>(float*)",
                            "cuLaunchKernelEx|ncclDevKernel_AllReduce_Sum_f32_RING_LL("
                            "ncclDevKernelArgsStorage<4096>)",
                            "cudaMemcpyAsync|copy host to device"));
    EXPECT_THAT(
        made.rows("SELECT arguments FROM events WHERE role='runtime' ORDER BY start_ns"),
        ElementsAre(R"({"version":7000})", R"({"api":"driver"})",
                    R"({"call_chain":3,"version":3020})", R"({"error":700,"version":3020})"));
}

TEST_F(Schema3, CopiesSetsWaitsGraphsAndOverheadsSpeakInWords) {
    EXPECT_THAT(
        made.rows("SELECT name, correlation, arguments FROM events WHERE role IN "
                  "('copy','sync','host') OR name='CUDA graph' ORDER BY start_ns"),
        ElementsAre(
            R"(Command Buffer Full|7|{"event_class":103,"overhead":"command buffer full"})",
            R"(wait for stream|10|{"device":0,"context":1,"stream":7,"sync_type":"stream",)"
            R"("event":4294967295})",
            R"(copy host to device|9|{"device":0,"context":1,"stream":7,"bytes":4096,)"
            R"("copy_kind":"host to device","from":"pinned host","to":"device"})",
            R"(set memory|0|{"device":0,"context":1,"stream":7,"value":255,"bytes":64,)"
            R"("memory":"device"})",
            R"(CUDA graph|9|{"device":0,"context":1,"stream":7,"graph":12,"graph_execution":13})",
            R"(event recorded|0|{"device":0,"context":1,"stream":7,"event":21,"event_sync":22})",
            R"(Graph Creation|0|{"event_class":95,"graph":12})"));
}

TEST_F(Schema3, NvtxHasDomainsCategoriesAndPayloads) {
    EXPECT_THAT(
        made.rows("SELECT lane_name, name, start_ns, duration_ns, depth, arguments FROM events"
                  " WHERE role='range' ORDER BY start_ns"),
        ElementsAre(
            R"(thread 101 (python): NVTX|step 1|5|495|0|{"category":5,"int64":-7,"double":0.25,)"
            R"("category_name":"phase"})",
            "thread 101 (python): NVTX|registered range|9|26|1|NULL",
            R"(thread 101 (python): NVTX NCCL|ncclAllReduce|36|29|0|{"domain":3,)"
            R"("payload":"{\"size\":4096}"})",
            "thread 101 (python): NVTX, marks|a mark|200|NULL|NULL|NULL",
            R"(thread 101 (python): NVTX, ranges|overlapping|210|140|0|{"nvtx":"start/end range",)"
            R"("range":11})"));
}

TEST_F(Schema3, MarksAreInstants) {
    EXPECT_THAT(made.rows("SELECT rank, lane_name, name, time_ns, scope FROM instants"),
                ElementsAre("0|thread 101 (python): NVTX, marks|a mark|200|thread"));
    EXPECT_EQ(made.summary.events.instants, 1u);
}

TEST_F(Schema3, DevicesCountersAndMemory) {
    ASSERT_EQ(made.summary.devices.size(), 1u);
    const DeviceFacts& device = made.summary.devices[0];
    EXPECT_EQ(device.name, "NVIDIA H100");
    EXPECT_EQ(device.uuid, "GPU-abc");
    EXPECT_EQ(device.pciBusId, "0000:17:00.0");
    EXPECT_EQ(device.memory.count, 85'899'345'920);
    EXPECT_EQ(made.summary.ranks.at(0).device, "NVIDIA H100 (GPU 0)");
    EXPECT_EQ(made.summary.ranks.at(0).pid, 100);
    EXPECT_THAT(made.summary.run.configJson, HasSubstr("\"smCount\":132"));
    EXPECT_THAT(made.rows("SELECT name, time_ns, value FROM counters WHERE lane < 65536"),
                ElementsAre("GPU 0 SMs Active [Throughput %]|100|55.0",
                            "GPU 0 SMs Active [Throughput %]|200|60.0"));
    EXPECT_THAT(
        made.rows("SELECT time_ns, action, size_bytes, owner FROM memory_events"),
        ElementsAre("50|allocate|1048576|device (GPU 0)", "460|free|1048576|device (GPU 0)"));
}

/// Environment, command lines, users, and texts that no event names.
TEST_F(Schema3, NothingOfTheMachineIsCopied) {
    std::string everything;
    for (const std::string& row : made.rows("SELECT text FROM strings")) everything += row + "\n";
    for (const std::string& row : made.rows("SELECT * FROM run")) everything += row + "\n";
    for (const std::string& row : made.rows("SELECT * FROM ranks")) everything += row + "\n";
    for (const std::string& row : made.rows("SELECT * FROM hosts")) everything += row + "\n";
    for (const std::string& row : made.rows("SELECT name, arguments FROM events"))
        everything += row + "\n";
    std::ifstream file(made.options.output, std::ios::binary);
    everything.append(std::istreambuf_iterator<char>(file), {});
    EXPECT_THAT(everything, HasSubstr("void gemm<float>"));
    for (const char* secret : {"secret", "HF_TOKEN", "API_KEY", "train.py"})
        EXPECT_THAT(everything, Not(HasSubstr(secret)));
}

TEST(NsysImport, Schema2ReadsTheSame) {
    MadeExport two(test::schema2()), three(test::schema3());
    const auto account = two.import();
    ASSERT_THAT(account, IsOk());
    ASSERT_THAT(three.import(), IsOk());
    EXPECT_EQ(account->read, 17u);
    EXPECT_EQ(account->rejected(), 0u);
    EXPECT_EQ(two.summary.run.startedUnixNs, 1'650'000'000'000'001'000);
    EXPECT_EQ(two.summary.devices.at(0).name, "");
    EXPECT_EQ(two.summary.ranks.at(0).device, "GPU 0");
    const std::string same =
        "SELECT lane_name, name, start_ns, duration_ns, correlation, arguments FROM events"
        " WHERE role IN ('copy','runtime','range','sync') AND name <> 'event recorded'"
        " ORDER BY 1, 3, 2";
    EXPECT_EQ(two.rows(same), three.rows(same));
    EXPECT_EQ(two.one("SELECT name, arguments FROM events WHERE role='host'"),
              R"(Command Buffer Full|{"return_value":0})");
}

TEST(NsysImport, ProcessesAndDevicesAreRanks) {
    const auto kernel = [](std::int64_t pid, int device, int start) {
        return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + std::to_string(start) + "," +
               std::to_string(start + 10) + "," + std::to_string(device) + ",1,7," +
               std::to_string(start) + "," + std::to_string(globalId(pid)) + ",1);";
    };
    // Process 300 drives two GPUs; 200 touches GPU 0 with a copy only; 400 has no device.
    MadeExport made(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
        "INSERT INTO StringIds VALUES (1,'k');"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT,"
        " streamId INT, correlationId INT, globalPid INT, demangledName INT);" +
        kernel(200, 1, 10) + kernel(300, 2, 20) + kernel(300, 3, 30) + kernel(100, 0, 40) +
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, contextId INT,"
        " streamId INT, correlationId INT, globalPid INT, bytes INT, copyKind INT);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (50,60,0,1,7,5," +
        std::to_string(globalId(200)) +
        ",8,1);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT,"
        " correlationId INT, nameId INT);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,2," +
        std::to_string(globalId(300, 301)) + ",30,1),(3,4," + std::to_string(globalId(400, 400)) +
        ",40,1)");
    ASSERT_THAT(made.import(), IsOk());
    EXPECT_THAT(made.rows("SELECT rank, pid, device FROM ranks"),
                ElementsAre("0|100|GPU 0", "1|200|GPU 1", "2|300|GPU 2", "3|300|GPU 3"));
    EXPECT_THAT(made.rows("SELECT rank, lane_name, start_ns, correlation, arguments FROM events"
                          " WHERE role='runtime' ORDER BY start_ns"),
                ElementsAre("2|thread 301: CUDA calls|0|30|NULL",
                            "0|process 400 thread 400: CUDA calls|2|0|{\"correlationId\":40}"));
    EXPECT_EQ(made.one("SELECT rank, lane_name FROM events WHERE role='copy'"),
              "1|GPU 0 stream 7: copies");
    EXPECT_EQ(made.summary.run.worldSize, 4);
}

/// Every process sees one GPU, as number 0.
TEST(NsysImport, MetricsGoToTheRankOfTheirGpu) {
    const std::string first = std::to_string(globalId(100)), second = std::to_string(globalId(200));
    MadeExport made(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, globalPid INT);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1,2,0," +
        first + "),(1,2,0," + second +
        ");CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INT, cudaId INT, pid INT);"
        "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (6,0,100),(3,0,200);"
        "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INT, metricId INT, metricName TEXT);"
        "INSERT INTO TARGET_INFO_GPU_METRICS VALUES (515,1,'SM'),(518,1,'SM');"
        "CREATE TABLE GPU_METRICS (timestamp INT, typeId INT, metricId INT, value INT);"
        "INSERT INTO GPU_METRICS VALUES (1,515,1,7),(1,518,1,8)");
    ASSERT_THAT(made.import(), IsOk());
    EXPECT_THAT(made.rows("SELECT rank, name, value FROM counters ORDER BY rank"),
                ElementsAre("0|GPU 6 SM|8.0", "1|GPU 3 SM|7.0"));
}

/// The kernel of NCCL ran on another GPU of the same process.
TEST(NsysImport, DevicesOfAProcessAreRanksWithItsStepsAndLaunches) {
    MadeExport made(test::schema3() +
                    "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId=1 WHERE correlationId=8;");
    ASSERT_THAT(made.import(), IsOk());
    EXPECT_EQ(made.summary.ranks.size(), 2u);
    EXPECT_EQ(made.summary.ranks.at(0).pid, made.summary.ranks.at(1).pid);
    EXPECT_THAT(made.rows("SELECT rank, step, start_ns, end_ns FROM steps ORDER BY rank"),
                ElementsAre("0|1|5|500", "1|1|5|500"));
    EXPECT_EQ(made.one("SELECT rank, step FROM events WHERE role='communication'"), "1|1");
    EXPECT_EQ(made.one("SELECT count(*) FROM events WHERE role='runtime' AND rank=1"), "0");
}

TEST(NsysImport, SeveralFilesFollowOneAnother) {
    MadeExport first(test::schema3()), second(test::schema3());
    ASSERT_THAT(first.import({first.path, second.path}), IsOk());
    EXPECT_THAT(first.rows("SELECT rank, host, pid FROM ranks"), ElementsAre("0|0|100", "1|1|100"));
    EXPECT_THAT(first.rows("SELECT rank, start_ns FROM kernels WHERE name LIKE '%gemm%'"),
                ElementsAre("0|100", "1|100"));
}

TEST(NsysImport, TablesOfAVersionAreFound) {
    MadeExport made(
        "CREATE TABLE StringIds_V2 (id INTEGER PRIMARY KEY, value TEXT);"
        "INSERT INTO StringIds_V2 VALUES (5,'k');"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V3 (\"start\" INT, \"END\" INT,"
        " demangledName INT);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL_V3 VALUES (7,9,5)");
    ASSERT_THAT(made.import(), IsOk());
    EXPECT_EQ(made.one("SELECT name, start_ns, duration_ns FROM events"), "k|0|2");
}

TEST(NsysImport, StringsWithoutAKeyAreReadOnce) {
    MadeExport made(
        "CREATE TABLE StringIds (id INT, value TEXT);"
        "INSERT INTO StringIds VALUES (900,'far'),(3,'near');"
        "CREATE TABLE NVTX_EVENTS (start INT, end INT, textId INT);"
        "INSERT INTO NVTX_EVENTS VALUES (1,2,900),(2,3,3),(4,5,4)");
    const auto account = made.import();
    ASSERT_THAT(account, IsOk());
    EXPECT_THAT(made.rows("SELECT name FROM events ORDER BY start_ns"),
                ElementsAre("far", "near", "(unnamed)"));
    EXPECT_EQ(account->repairs.at("a name that is not in StringIds"), 1u);
}

TEST(NsysImport, AnImportCanBeStopped) {
    // Few rows: the question comes every few thousand, so make many.
    MadeExport many(test::schema3() +
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<20000)"
                    " INSERT INTO NVTX_EVENTS(start,end,eventType,text) SELECT i,i+1,59,'x' FROM "
                    "n");
    many.options.progress = [](double) { return false; };
    const auto stopped = many.import();
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
    EXPECT_FALSE(std::ifstream(many.options.output).good());
}

TEST(NsysImport, ALongExportCanBeReadLongBeforeItsEnd) {
    MadeExport many(test::schema3() +
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<150000)"
                    " INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 2000+i*10,2008+i*10,0,1,7,"
                    "1000+i," +
                    std::to_string(globalId(100)) +
                    ",1,2,3,1,32,1,1,1,32,1,1,0,0,i,NULL,2,1,1,'[]' FROM n");
    int told = 0;
    many.options.readable = [&](const std::string& part) {
        ++told;
        const auto reader = storage::openRecording(part);
        ASSERT_THAT(reader, IsOk());
        const auto summary = (*reader)->summary();
        ASSERT_EQ(summary->lanes.size(), 1u);
        const auto kernels =
            (*reader)->spans(summary->lanes[0].rank, summary->lanes[0].lane,
                             {{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}});
        ASSERT_THAT(kernels, IsOk());
        EXPECT_GT(kernels->size(), 50'000u);
        EXPECT_EQ((*reader)->text(summary->lanes[0].rank, kernels->back().name),
                  "void gemm<float>(float*)");
    };
    ASSERT_THAT(many.import(), IsOk());
    EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace shardscope
