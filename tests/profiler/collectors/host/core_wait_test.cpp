#include "profiler/collectors/host/stolen_time.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <optional>
#include <thread>

namespace shardscope::collectors {
namespace {

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
