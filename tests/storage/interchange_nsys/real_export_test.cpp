// An export of somebody else's run: two H100, one process each.
#include "tests/storage/interchange_nsys/made_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace shardscope {
namespace {

using test::IsOk;
using test::MadeExport;
using ::testing::ElementsAre;

class RealExport : public ::testing::Test {
protected:
    void SetUp() override {
        path = std::string(SHARDSCOPE_SHARED_TRACES) + "/nsys_h100_2gpu_1s.sqlite";
        if (!std::filesystem::exists(path))
            GTEST_SKIP() << "the sample export " << path << " is not here";
        account = real.import({path});
        ASSERT_THAT(account, IsOk());
    }
    std::string path;
    MadeExport real{""};
    Result<interchange::ImportAccount> account;
};

TEST_F(RealExport, EveryRowIsKept) {
    EXPECT_EQ(account->read, 27'388u);
    EXPECT_EQ(account->kept, 27'388u);
    EXPECT_EQ(account->repaired, 0u);
    EXPECT_THAT(real.rows("SELECT role, count(*) FROM events GROUP BY role ORDER BY role"),
                ElementsAre("compute|3442", "copy|926", "host|198", "range|16782", "runtime|5796",
                            "sync|244"));
    EXPECT_THAT(real.rows("SELECT rank, pid, device FROM ranks"),
                ElementsAre("0|111|GPU 0", "1|112|GPU 1"));
}

TEST_F(RealExport, SumsAreThoseOfTheFile) {
    const auto theirs =
        test::rowsOf(path,
                     "SELECT deviceId, sum(end - start), sum(gridX) FROM CUPTI_ACTIVITY_KIND_KERNEL"
                     " GROUP BY 1 ORDER BY 1");
    EXPECT_EQ(real.rows("SELECT rank, sum(duration_ns), sum(json_extract(arguments,'$.grid[0]'))"
                        " FROM kernels GROUP BY 1 ORDER BY 1"),
              theirs);
    EXPECT_EQ(real.rows("SELECT sum(json_extract(arguments,'$.bytes')) FROM events WHERE"
                        " role='copy' AND name LIKE 'copy%'"),
              test::rowsOf(path, "SELECT sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY"));
    EXPECT_EQ(
        real.rows("SELECT count(*) FROM kernels k JOIN events r ON r.correlation = k.correlation"
                  " AND r.rank = k.rank AND r.role='runtime'"),
        test::rowsOf(path,
                     "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN"
                     " CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId"
                     " AND r.globalTid / 0x1000000 = k.globalPid / 0x1000000"));
}

TEST_F(RealExport, TimesAreExact) {
    // UTC of the session's start, where its system clock stood, and the first kernel.
    EXPECT_EQ(real.one("SELECT min(start_ns) + (SELECT started_unix_ns FROM run) FROM kernels"),
              std::to_string(1'779'630'014'975'716'426 - 35'255'823'190 + 155'360'295'935));
}

/// Their rows name device 0; the contexts are of one device each.
TEST_F(RealExport, WaitsLieOnTheDeviceOfTheirContext) {
    EXPECT_EQ(real.rows("SELECT rank, count(*) FROM events WHERE role='sync'"
                        " AND lane_name LIKE 'GPU ' || rank || ' stream %' GROUP BY rank"),
              (std::vector<std::string>{"0|122", "1|122"}));
    EXPECT_EQ(real.one("SELECT count(*) FROM events WHERE role='sync'"), "244");
}

/// Exported again, every cell of the CUDA tables is what it was; times on the wall clock.
TEST_F(RealExport, EveryCellComesBack) {
    const std::string back = real.folder.file("back.sqlite");
    ASSERT_THAT(real.exportTo(back), IsOk());
    const std::string times =
        "SELECT start + utcEpochNs - systemClockNs, \"end\" + utcEpochNs - systemClockNs, ";
    const std::string from = " FROM TARGET_INFO_SESSION_START_TIME, CUPTI_ACTIVITY_KIND_";
    const std::string place =
        "deviceId, contextId, greenContextId, streamId, correlationId, globalPid, ";
    const auto text = [](const std::string& id) {
        return "(SELECT value FROM StringIds WHERE id = " + id + "), ";
    };
    const std::string tables[] = {
        times + place + text("demangledName") + text("shortName") + text("mangledName") +
            "launchType, cacheConfig, registersPerThread, gridX, gridY, gridZ, blockX, blockY,"
            " blockZ, staticSharedMemory, dynamicSharedMemory, localMemoryPerThread,"
            " localMemoryTotal, gridId, sharedMemoryExecuted, graphNodeId, sharedMemoryLimitConfig,"
            " graphId, clusterX, clusterY, clusterZ, clusterSchedulingPolicy,"
            " maxPotentialClusterSize, maxActiveClusters, tensorSizeMinusOneElements" +
            from + "KERNEL",
        times + place +
            "bytes, copyKind, srcKind, dstKind, srcDeviceId, dstDeviceId, migrationCause,"
            " graphNodeId, virtualAddress, copyCount" +
            from + "MEMCPY",
        times + place + "value, bytes, graphNodeId, memKind" + from + "MEMSET",
        times + text("nameId") + "eventClass, globalTid, correlationId, returnValue, callchainId" +
            from + "RUNTIME",
        times + place + "syncType, eventId, eventSyncId" + from + "SYNCHRONIZATION",
        times + text("nameId") + "eventClass, globalTid, correlationId, overheadType" + from +
            "OVERHEAD"};
    for (const std::string& table : tables) {
        auto theirs = test::rowsOf(path, table), ours = test::rowsOf(back, table);
        std::sort(theirs.begin(), theirs.end());
        std::sort(ours.begin(), ours.end());
        EXPECT_GT(theirs.size(), 0u);
        EXPECT_EQ(theirs, ours) << table;
    }
}

}  // namespace
}  // namespace shardscope
