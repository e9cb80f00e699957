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

class HostCoresTest : public testing::Test {
protected:
    void write(int user, int steal) {
        std::ofstream(m_path) << "cpu  " << user << " 2 30 400 5 6 7 " << steal
                              << " 0 0\ncpu0 1 2 3 4 5 6 7 8";
    }
    test::TemporaryFolder m_folder;
    std::string m_path = m_folder.file("stat");
    const std::int64_t m_tick = kSecond / sysconf(_SC_CLK_TCK);
};

TEST_F(HostCoresTest, AreInTheLineOfAllCores) {
    const auto ticks = coreTicksIn("cpu  1000 200 30 4000 50 6 7 151 0 0\ncpu0 1 2");
    ASSERT_TRUE(ticks);
    EXPECT_EQ(ticks->stolen, 151);
    EXPECT_EQ(ticks->used, 1000 + 200 + 30 + 6 + 7) << "neither idle nor waiting for a disk";
    EXPECT_FALSE(coreTicksIn("cpu  1 2 3 4 5 6 7")) << "a kernel before 2.6.11";
    EXPECT_FALSE(coreTicksIn("cpu0 1 2 3 4 5 6 7 8 9 10"));
    EXPECT_FALSE(coreTicksIn(""));
}

TEST_F(HostCoresTest, TellWhatWentOnSinceTheyWereReadLast) {
    write(1000, 151);
    HostCores cores(m_path.c_str());
    EXPECT_EQ(cores.take(0)->stolen, 0) << "how much before does not matter";
    write(1007, 154);
    const auto since = cores.take(1000 * kSecond);
    EXPECT_EQ(since->stolen, 3 * m_tick);
    EXPECT_EQ(since->used, 7 * m_tick);
    EXPECT_EQ(cores.take(2000 * kSecond)->used, 0);
    write(900, 150);
    EXPECT_EQ(cores.take(3000 * kSecond)->stolen, 0) << "it never goes back";
    EXPECT_EQ(cores.take(4000 * kSecond)->used, 0);
}

TEST_F(HostCoresTest, AreNotReadAgainWithinATick) {
    write(100, 100);
    HostCores cores(m_path.c_str());
    EXPECT_EQ(cores.take(0)->stolen, 0);
    write(101, 102);
    EXPECT_EQ(cores.take(m_tick - 1)->stolen, 0);
    EXPECT_EQ(cores.take(1000 * kSecond)->stolen, 2 * m_tick) << "nothing is lost";
}

TEST_F(HostCoresTest, LeaveOutWhatIsSkippedButNotWhatIsStillToBeReported) {
    write(100, 100);
    HostCores cores(m_path.c_str());
    EXPECT_EQ(cores.take(0)->used, 0);
    write(105, 100);
    cores.skip(1000 * kSecond);
    write(107, 100);
    EXPECT_EQ(cores.take(2000 * kSecond)->used, 2 * m_tick) << "not what was skipped";
    write(110, 100);
    EXPECT_EQ(cores.take(2000 * kSecond + 1)->used, 0) << "too early";
    cores.skip(3000 * kSecond);
    EXPECT_EQ(cores.take(4000 * kSecond)->used, 3 * m_tick) << "was still to be reported";
}

TEST_F(HostCoresTest, AreNotKnownWithoutTheFile) {
    HostCores cores("/proc/no/such/file");
    EXPECT_FALSE(cores.take(0));
    EXPECT_FALSE(cores.take(kSecond));
}

TEST_F(HostCoresTest, AreKnownOfThisMachine) {
    HostCores cores;
    ASSERT_TRUE(cores.take(0));
    EXPECT_GE(cores.take(1000 * kSecond)->stolen, 0);
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
