#include "profiler/collectors/host/stolen_time.h"

#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

namespace shardscope::collectors {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class StolenTimeTest : public testing::Test {
protected:
    void steal(int ticks) {
        std::ofstream(m_path) << "cpu  10 2 30 400 5 0 7 " << ticks << " 0 0\ncpu0 1 2 3 4 5 6 7 8";
    }
    test::TemporaryFolder m_folder;
    std::string m_path = m_folder.file("stat");
    const std::int64_t m_tick = kSecond / sysconf(_SC_CLK_TCK);
};

TEST_F(StolenTimeTest, IsTheEighthNumberOfAllCores) {
    EXPECT_EQ(stolenTicksIn("cpu  238659 230 29289 182670 1665 0 134 151 0 0\ncpu0 1 2"), 151);
    EXPECT_EQ(stolenTicksIn("cpu  1 2 3 4 5 6 7"), std::nullopt) << "a kernel before 2.6.11";
    EXPECT_EQ(stolenTicksIn("cpu0 1 2 3 4 5 6 7 8 9 10"), std::nullopt);
    EXPECT_EQ(stolenTicksIn(""), std::nullopt);
}

TEST_F(StolenTimeTest, IsWhatWasStolenSinceItWasReadLast) {
    steal(151);
    StolenTime stolen(m_path.c_str());
    EXPECT_EQ(stolen.take(0), 0) << "how much before does not matter";
    steal(154);
    EXPECT_EQ(stolen.take(1000 * kSecond), 3 * m_tick);
    EXPECT_EQ(stolen.take(2000 * kSecond), 0);
    steal(150);
    EXPECT_EQ(stolen.take(3000 * kSecond), 0) << "it never goes back";
}

TEST_F(StolenTimeTest, IsNotReadAgainWithinATick) {
    steal(100);
    StolenTime stolen(m_path.c_str());
    EXPECT_EQ(stolen.take(0), 0);
    steal(102);
    EXPECT_EQ(stolen.take(m_tick - 1), 0);
    EXPECT_EQ(stolen.take(1000 * kSecond), 2 * m_tick) << "nothing is lost";
}

TEST_F(StolenTimeTest, IsNotKnownWithoutTheFile) {
    StolenTime stolen("/proc/no/such/file");
    EXPECT_EQ(stolen.take(0), std::nullopt);
    EXPECT_EQ(stolen.take(kSecond), std::nullopt);
}

TEST_F(StolenTimeTest, IsKnownOfThisMachine) {
    StolenTime stolen;
    ASSERT_EQ(stolen.take(0), 0);
    EXPECT_GE(stolen.take(1000 * kSecond).value(), 0);
}

TEST(CoreWait, IsTheSecondNumberOfTheThreadsFile) {
    EXPECT_EQ(coreWaitIn("1200 34567 8\n"), 34567);
    EXPECT_EQ(coreWaitIn("1200 0 8\n"), 0);
}

TEST(CoreWait, IsNotKnownWhereTheKernelDoesNotCount) {
    EXPECT_EQ(coreWaitIn("0 0 0\n"), std::nullopt);
    EXPECT_EQ(coreWaitIn(""), std::nullopt);
    EXPECT_EQ(coreWaitIn("12 34"), std::nullopt);
    EXPECT_EQ(coreWaitIn("12 x 3"), std::nullopt);
    EXPECT_EQ(CoreWait("/proc/no/such/file").read(), std::nullopt);
}

TEST(CoreWait, IsReadAnew) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("schedstat");
    std::ofstream(path) << "1 500 1\n";
    const CoreWait wait(path.c_str());
    EXPECT_EQ(wait.read(), 500);
    std::ofstream(path) << "1 800 2\n";
    EXPECT_EQ(wait.read(), 800);
}

void spinUntil(const std::atomic<bool>& done) {
    while (!done) {
    }
}

void bindToCore(int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    sched_setaffinity(0, sizeof cores, &cores);
}

/// Of the thread that made it, though another one reads it.
TEST(CoreWait, GrowsWhileAnotherRunsOnTheCore) {
    std::optional<CoreWait> wait;
    std::atomic<bool> bound = false, done = false;
    const int core = sched_getcpu();
    std::thread waiting([&] {
        bindToCore(core);
        wait.emplace();
        bound = true;
        spinUntil(done);
    });
    std::thread other([&] {
        bindToCore(core);
        spinUntil(done);
    });
    while (!bound) std::this_thread::yield();
    const auto before = wait->read();
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    const auto after = wait->read();
    done = true;
    waiting.join();
    other.join();
    if (!before || !after) GTEST_SKIP() << "this kernel does not count it";
    EXPECT_GE(*after - *before, 100'000'000);
}

}  // namespace
}  // namespace shardscope::collectors
