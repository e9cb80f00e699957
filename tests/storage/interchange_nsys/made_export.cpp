#include "tests/storage/interchange_nsys/made_export.h"

#include "storage/sqlite/connection.h"
#include "tests/support/formats.h"

#include <algorithm>
#include <stdexcept>

namespace shardscope::test {
namespace {

std::string id(std::int64_t pid, std::int64_t tid = 0) {
    return std::to_string(globalId(pid, tid));
}

constexpr const char* kStrings = R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1,'void gemm<float>(float*)'),(2,'gemm'),(3,'_Z4gemm'),
 (4,'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)'),
 (5,'ncclDevKernel_AllReduce_Sum_f32_RING_LL'),(6,'cudaLaunchKernel_v7000'),
 (7,'cuLaunchKernelEx'),(8,'cudaMemcpyAsync_v3020'),(9,'python'),(10,'registered range'),
 (11,'Command Buffer Full'),(12,'Graph Creation'),(13,'HF_TOKEN=hf_secret_in_strings'),
 (14,'cudaStreamSynchronize_v3020');
)";

std::string activities() {
    const std::string pid = id(100), tid = id(100, 101);
    return R"(
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
 eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,
 returnValue INTEGER NOT NULL, callchainId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1010,1030,0,)" +
           tid + ",7,6,0,NULL),(1040,1060,1," + tid + ",8,7,0,NULL),(1070,1080,0," + tid +
           ",9,8,0,3),(1085,1099,0," + tid + R"(,10,14,700,NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,
 deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
 correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL,
 srcKind INTEGER, dstKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1300,1400,0,1,7,9,)" +
           pid + R"(,4096,1,1,2);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL,
 deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
 correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL,
 memKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (1410,1420,0,1,7,NULL,)" +
           pid + R"(,255,64,2);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL,
 deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
 correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1086,1098,0,1,7,10,)" +
           pid + R"(,3,4294967295);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
INSERT INTO ThreadNames VALUES (9,20,)" +
           tid + R"();
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, name TEXT, value TEXT);
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1,'API_KEY','sk-secret-in-environment');
CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
INSERT INTO META_DATA_CAPTURE VALUES ('COMMAND_LINE','train.py --token secret-in-command-line');
)";
}

std::string kernels(bool schema3) {
    const std::string extra = schema3 ? ", clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER,"
                                        " tensorSizeMinusOneElements TEXT NOT NULL"
                                      : "";
    const std::string more = schema3 ? ",2,1,1,'[]'" : "";
    return "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,"
           " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,"
           " correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,"
           " shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER,"
           " registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL,"
           " gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL,"
           " blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,"
           " dynamicSharedMemory INTEGER NOT NULL, gridId INTEGER NOT NULL, graphNodeId INTEGER" +
           extra + ");INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1100,1200,0,1,7,7," + id(100) +
           ",1,2,3,1,32,132,2,1,384,1,1,16,1024,42,NULL" + more + "),(1150,1290,0,1,20,8," +
           id(100) + ",4,5,NULL,1,96,16,1,1,512,1,1,0,0,43,77" + more + ");";
}

std::string ranges() {
    const std::string tid = id(100, 101);
    return R"(
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
 rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,
 endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER,
 doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER,
 jsonText TEXT);
INSERT INTO NVTX_EVENTS(start,end,eventType,category,text,globalTid,textId,domainId,int64Value,
 doubleValue,jsonText,rangeId) VALUES
 (1000,NULL,75,NULL,'NCCL',)" +
           tid + ",NULL,3,NULL,NULL,NULL,NULL),(1000,NULL,33,5,'phase'," + tid +
           ",NULL,0,NULL,NULL,NULL,NULL),(1005,1500,59,5,'step 1'," + tid +
           ",NULL,0,-7,0.25,NULL,NULL),(1009,1035,59,NULL,NULL," + tid +
           ",10,0,NULL,NULL,NULL,NULL),(1036,1065,59,NULL,'ncclAllReduce'," + tid +
           R"(,NULL,3,NULL,NULL,'{"size":4096}',NULL),(1200,NULL,34,NULL,'a mark',)" + tid +
           ",NULL,0,NULL,NULL,NULL,NULL),(1210,1350,60,NULL,'overlapping'," + tid +
           ",NULL,0,NULL,NULL,NULL,11);";
}

}  // namespace

std::string schema3() {
    const std::string pid = id(100), tid = id(100, 101);
    return kStrings + activities() + kernels(true) + ranges() + R"(
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION','3.25.0'),
 ('EXPORT_PRODUCT_VERSION','2026.2.1.210'),('EXPORT_USER','secret-user');
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT,
 systemClockNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779630014000000000,NULL,NULL,500);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, busLocation TEXT,
 totalMemory INTEGER, smCount INTEGER, uuid TEXT, cuDevice INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (1,4,'NVIDIA H100','0000:17:00.0',85899345920,132,'GPU-abc',0);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (4,0,100,'GPU-abc');
CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start INTEGER NOT NULL, end INTEGER NOT NULL,
 eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER,
 overheadType INTEGER NOT NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (1012,1014,103,)" +
           tid + R"(,7,11,8);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER NOT NULL,
 deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
 correlationId INTEGER, globalPid INTEGER, graphId INTEGER NOT NULL, graphExecId INTEGER NOT NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1430,1440,0,1,7,9,)" +
           pid + R"(,12,13);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp INTEGER, deviceId INTEGER NOT NULL,
 contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
 eventId INTEGER NOT NULL, eventSyncId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (1450,0,1,7,NULL,)" +
           pid + ",21,22),(0,0,1,7,NULL," + pid + R"(,21,23);
CREATE TABLE CUDA_GRAPH_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL,
 eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL, graphId INTEGER NOT NULL,
 originalGraphId INTEGER, graphExecId INTEGER);
INSERT INTO CUDA_GRAPH_EVENTS VALUES (1460,1461,95,)" +
           tid + R"(,12,12,NULL,NULL);
CREATE TABLE GPU_METRICS (rawTimestamp INTEGER NOT NULL, timestamp INTEGER NOT NULL,
 typeId INTEGER NOT NULL, metricId INTEGER NOT NULL, value INTEGER NOT NULL);
INSERT INTO GPU_METRICS VALUES (1,1100,256,1,55),(1,1200,256,1,60),(1,1200,256,9,60);
CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER NOT NULL, sourceId INTEGER NOT NULL,
 typeName TEXT NOT NULL, metricId INTEGER NOT NULL, metricName TEXT NOT NULL);
INSERT INTO TARGET_INFO_GPU_METRICS VALUES (256,1,'GA100',1,'SMs Active [Throughput %]');
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL,
 deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, address INTEGER NOT NULL,
 bytes INTEGER NOT NULL, memKind INTEGER NOT NULL, memoryOperationType INTEGER NOT NULL,
 name TEXT);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1050,)" +
           pid + ",0,1,140000,1048576,2,0,NULL),(1460," + pid +
           R"(,0,1,140000,1048576,2,1,NULL);
CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, text TEXT);
)";
}

std::string schema2() {
    return kStrings + activities() + kernels(false) + ranges() + R"(
CREATE TABLE EXPORT_META_DATA (name TEXT NOT NULL, value TEXT);
INSERT INTO EXPORT_META_DATA VALUES ('EXPORT_SCHEMA_VERSION','2.9.1');
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1650000000000000000);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
 streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0,1,7,NULL,)" +
           id(100) + R"(,21);
CREATE TABLE PROFILER_OVERHEAD (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
 nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
INSERT INTO PROFILER_OVERHEAD VALUES (1490,1495,)" +
           id(100, 101) + R"(,11,0);
CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
 globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL,
 nestingLevel INTEGER, callchainId INTEGER NOT NULL);
CREATE TABLE CUDA_GRAPH_EVENTS (start INTEGER);
)";
}

MadeExport::MadeExport(const std::string& sql) : path(folder.file("made.sqlite")) {
    options.output = folder.file("out.sscope");
    if (sql.empty()) return;
    auto connection = storage::Connection::open(path, storage::Connection::Mode::kCreate);
    if (!connection) throw std::runtime_error(connection.error().message);
    if (auto done = connection->execute("BEGIN;" + sql + ";COMMIT"); !done)
        throw std::runtime_error(done.error().message);
}

Result<interchange::ImportAccount> MadeExport::import() {
    return import({path});
}

Result<interchange::ImportAccount> MadeExport::import(const std::vector<std::string>& inputs) {
    auto account = interchange::importTraces(inputs, options);
    if (!account) return account;
    auto opened = storage::openRecording(options.output);
    if (!opened) return failure(opened);
    reader = std::move(*opened);
    auto read = reader->summary();
    if (!read) return failure(read);
    summary = std::move(*read);
    return account;
}

Result<interchange::ExportAccount> MadeExport::exportTo(const std::string& output) const {
    interchange::ExportOptions to;
    to.output = output;
    return interchange::exportAs("nsys-sqlite", *reader, to);
}

std::vector<std::string> MadeExport::rows(const std::string& sql) const {
    auto table = reader->query(sql);
    EXPECT_THAT(table, IsOk());
    std::vector<std::string> lines;
    if (!table) return lines;
    for (const auto& row : table->rows) {
        std::string line;
        for (const auto& cell : row)
            line.append(&cell == &row.front() ? "" : "|").append(cell.value_or("NULL"));
        lines.push_back(line);
    }
    return lines;
}

std::string MadeExport::one(const std::string& sql) const {
    const auto lines = rows(sql);
    EXPECT_EQ(lines.size(), 1u) << sql;
    return lines.empty() ? std::string() : lines.front();
}

std::vector<std::string> rowsOf(const std::string& database, const std::string& sql) {
    auto connection = storage::Connection::open(database, storage::Connection::Mode::kReadOnly);
    EXPECT_THAT(connection, IsOk());
    auto statement = connection->prepare(sql);
    std::vector<std::string> lines;
    if (!statement) {
        ADD_FAILURE() << statement.error().message;
        return lines;
    }
    while (true) {
        auto row = statement->step();
        if (!row || !*row) break;
        std::string line;
        for (int i = 0; i < statement->columnCount(); ++i)
            line.append(i == 0 ? "" : "|")
                .append(statement->isNull(i) ? "NULL" : statement->text(i));
        lines.push_back(line);
    }
    return lines;
}

std::vector<std::string> spansOf(const MadeExport& recording) {
    std::vector<std::string> lines;
    constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};
    storage::RecordingReader& reader = *recording.reader;
    for (const LaneFacts& lane : recording.summary.lanes) {
        if (lane.role == LaneRole::kCounter) continue;
        auto spans = reader.spans(lane.rank, lane.lane, kEverything);
        EXPECT_THAT(spans, IsOk());
        for (const SpanEvent& span : *spans) {
            const std::int64_t start = span.start.ns + recording.summary.run.startedUnixNs;
            std::string line = std::to_string(lane.rank.value);
            for (const std::string& part :
                 {lane.name, std::string(toWord(lane.role)), std::to_string(start),
                  std::to_string(span.duration.ns), std::string(reader.text(lane.rank, span.name)),
                  std::to_string(span.correlation),
                  std::string(reader.text(lane.rank, span.arguments))})
                line.append("|").append(part);
            lines.push_back(std::move(line));
        }
    }
    std::sort(lines.begin(), lines.end());
    return lines;
}

}  // namespace shardscope::test
