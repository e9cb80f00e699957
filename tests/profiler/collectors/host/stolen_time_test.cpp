#include "profiler/collectors/host/stolen_time.h"

#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

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

}  // namespace
}  // namespace shardscope::collectors
