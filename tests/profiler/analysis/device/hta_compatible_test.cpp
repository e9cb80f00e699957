// HTA's formulas on rows whose answers fit on paper; HTA itself is asked in hta_compare.py.
#include "profiler/analysis/device/hta_compatible.h"

#include <gtest/gtest.h>

namespace shardscope::analysis {
namespace {

constexpr std::int64_t kUs = 1000;

HtaRow row(std::int64_t startUs, std::int64_t endUs, std::int64_t correlation, const char* name,
           std::int64_t stream = 7) {
    return {startUs * kUs, endUs * kUs, correlation, stream, htaKind(name), true, true};
}

TEST(HtaCompatible, KindsGoByName) {
    EXPECT_EQ(htaKind("ncclDevKernel_AllGather_RING_LL"), HtaKind::kCommunication);
    EXPECT_EQ(htaKind("void ncclKernel_x"), HtaKind::kCommunication);
    EXPECT_EQ(htaKind("Memcpy HtoD (Pinned -> Device)"), HtaKind::kMemory);
    EXPECT_EQ(htaKind("sgemm"), HtaKind::kComputation);
    EXPECT_EQ(htaKind("my_nccl_like"), HtaKind::kComputation);
    EXPECT_EQ(htaKind("SyncBatchNorm_forward"), HtaKind::kOther);
    EXPECT_EQ(htaKind("cudaLaunchKernel"), HtaKind::kOther);
}

/// Computation [0, 10) and [20, 30), communication [5, 25) and a copy [40, 50): busy 40 of 50.
TEST(HtaCompatible, BreakdownAndOverlapAreUnions) {
    HtaTrace trace;
    trace.rows = {row(0, 10, 1, "gemm"), row(5, 25, 2, "ncclKernel_AllReduce", 20),
                  row(20, 30, 3, "gemm"), row(22, 28, 4, "gemm", 8), row(40, 50, 5, "Memcpy DtoH")};
    const auto numbers = htaCompatible({trace}, {}).at(0);
    EXPECT_EQ(numbers.kernelNs, 50 * kUs);
    EXPECT_EQ(numbers.idleNs, 10 * kUs);
    EXPECT_EQ(numbers.computeNs, 20 * kUs);
    EXPECT_EQ(numbers.nonComputeNs, 20 * kUs);
    EXPECT_DOUBLE_EQ(numbers.overlapPercent.value(), 50);
}

TEST(HtaCompatible, IdleGoesToWhoCausedIt) {
    HtaTrace trace;
    trace.rows = {row(0, 10, 1, "a"), row(15, 20, 2, "b"), row(70, 80, 3, "c"),
                  row(200, 210, 4, "d")};
    trace.launches = {{0, 1}, {1 * kUs, 2}, {2 * kUs, 3}, {190 * kUs, 4}};
    const auto idle = htaCompatible({trace}, {}).at(0).idle.at(0);
    EXPECT_EQ(idle.kernelWaitNs, 5 * kUs);
    EXPECT_EQ(idle.otherNs, 50 * kUs);
    EXPECT_EQ(idle.hostWaitNs, 120 * kUs);
}

/// With two steps the last is left out: what was launched in it, and what nothing launched.
TEST(HtaCompatible, TheLastStepIsLeftOut) {
    HtaTrace trace;
    trace.rows = {row(0, 10, 1, "a"), row(100, 110, 2, "b"), row(300, 310, 9, "orphan")};
    trace.launches = {{0, 1}, {60 * kUs, 2}};
    trace.steps = {{"ProfilerStep#3", 0, 50 * kUs}, {"ProfilerStep#4", 50 * kUs, 120 * kUs}};
    EXPECT_EQ(htaCompatible({trace}, {}).at(0).kernelNs, 10 * kUs);
    EXPECT_EQ(htaCompatible({trace}, {.keepLastStep = true}).at(0).kernelNs, 110 * kUs);
    trace.steps.pop_back();
    EXPECT_EQ(htaCompatible({trace}, {}).at(0).kernelNs, 310 * kUs) << "one step is no filter";
    HtaTrace other;
    other.rank = {1};
    other.steps = {{"ProfilerStep#9", 0, 1}};
    EXPECT_EQ(htaCompatible({trace, other}, {}).size(), 0u) << "names of all ranks count";
}

TEST(HtaCompatible, WholeMicrosecondsAreFloored) {
    HtaTrace trace;
    trace.rows = {{1'900, 2'100, 1, 7, HtaKind::kComputation, true, true},
                  {-1, 3'999, 2, 7, HtaKind::kOther, true, true}};
    const auto numbers = htaCompatible({trace}, {.wholeMicroseconds = true}).at(0);
    EXPECT_EQ(numbers.computeNs, kUs);
    EXPECT_EQ(numbers.kernelNs, 4 * kUs);
    EXPECT_FALSE(numbers.overlapPercent);
}

/// A launch call and the driver call within it share a number: HTA's join has the kernel twice.
TEST(HtaCompatible, TwoLaunchesRepeatARow) {
    HtaTrace trace;
    trace.rows = {row(10, 20, 1, "a")};
    trace.launches = {{0, 1}, {1, 1}};
    trace.steps = {{"ProfilerStep#1", 0, 5}, {"ProfilerStep#2", 5 * kUs, 6 * kUs}};
    EXPECT_EQ(htaCompatible({trace}, {}).at(0).idle.at(0).kernelWaitNs, -10 * kUs);
}

}  // namespace
}  // namespace shardscope::analysis
