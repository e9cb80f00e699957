// Cores and quotas of made-up machines, below a folder that stands for "/".
#include "engine/launch/host_facts.h"
#include "storage/model/run_facts.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace shardscope::launch {
namespace {

/// Numbers that the kernel really gives this process; the topology is made up for these.
std::vector<int> processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    ::sched_getaffinity(0, sizeof set, &set);
    std::vector<int> numbers;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(static_cast<unsigned>(i), &set)) numbers.push_back(i);
    return numbers;
}

class UsableCores : public testing::Test {
protected:
    void write(const std::string& file, const std::string& text) const {
        const std::filesystem::path path = m_folder.path() + "/" + file;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text << '\n';
    }
    void topology(const std::string& file, const std::function<std::string(int)>& core) const {
        for (const int number : processors())
            write("sys/devices/system/cpu/cpu" + std::to_string(number) + "/topology/" + file,
                  core(number));
    }
    [[nodiscard]] const std::string& root() const { return m_folder.path(); }

    test::TemporaryFolder m_folder;
};

TEST_F(UsableCores, AreTheAffinityMaskWhereNoTopologyIsTold) {
    EXPECT_EQ(usableCores(), static_cast<int>(processors().size()));
    EXPECT_EQ(usablePhysicalCores(root()), usableCores());
}

TEST_F(UsableCores, HardwareThreadsOfOneCoreCountOnce) {
    topology("core_cpus_list", [](int) { return "0-255"; });
    EXPECT_EQ(usablePhysicalCores(root()), 1);
    topology("core_cpus_list", [](int number) { return std::to_string(number); });
    EXPECT_EQ(usablePhysicalCores(root()), usableCores());
}

TEST_F(UsableCores, OlderKernelsNameThemSiblings) {
    topology("thread_siblings_list", [](int) { return "0-255"; });
    EXPECT_EQ(usablePhysicalCores(root()), 1);
}

TEST_F(UsableCores, NoQuotaWhereNoneIsSet) {
    EXPECT_EQ(processorQuota(root()), std::nullopt);
    write("sys/fs/cgroup/cpu.max", "max 100000");
    EXPECT_EQ(processorQuota(root()), std::nullopt);
    write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
    write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
    EXPECT_EQ(processorQuota(root()), std::nullopt);
}

TEST_F(UsableCores, TheSmallestQuotaOfTheGroupsAboveCounts) {
    write("proc/self/cgroup", "0::/jobs/training/rank");
    write("sys/fs/cgroup/jobs/training/rank/cpu.max", "800000 100000");
    write("sys/fs/cgroup/jobs/cpu.max", "250000 100000");
    EXPECT_EQ(processorQuota(root()), 2.5);
}

TEST_F(UsableCores, AContainerThatCannotSeeItsPathReadsTheMount) {
    write("proc/self/cgroup", "0::/docker/0123");
    write("sys/fs/cgroup/cpu.max", "150000 100000");
    EXPECT_EQ(processorQuota(root()), 1.5);
}

TEST_F(UsableCores, Version1IsReadAtItsPathAndMount) {
    write("proc/self/cgroup", "5:memory:/other\n4:cpu,cpuacct:/docker/1");
    write("sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "50000");
    write("sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000");
    EXPECT_EQ(processorQuota(root()), 0.5);
}

TEST_F(UsableCores, RanksTimesThreadsIsNeverMoreThanThere) {
    topology("core_cpus_list", [](int number) { return std::to_string(number); });
    const int cores = usablePhysicalCores(root());
    for (int ranks = 1; ranks <= 2 * cores; ++ranks) {
        const int threads = threadsPerRank(ranks, root());
        EXPECT_GE(threads, 1);
        if (ranks <= cores) {
            EXPECT_LE(ranks * threads, cores);
            EXPECT_GT(ranks * (threads + 1), cores);
        }
    }
    write("sys/fs/cgroup/cpu.max", "100000 100000");
    EXPECT_EQ(threadsPerRank(1, root()), 1);
}

TEST_F(UsableCores, OfAVirtualMachineAreAFactOfTheRun) {
    const auto hardware = [&] { return factText(hostFactRows(root()), Fact::kHardware); };
    EXPECT_EQ(hardware(), "") << "there is nothing that says it";
    write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse hypervisor avx\n");
    EXPECT_EQ(hardware(), kVirtualHardware);
    write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse avx hypervisor");
    EXPECT_EQ(hardware(), kVirtualHardware);
    write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse avx\n");
    EXPECT_EQ(hardware(), "physical");
}

}  // namespace
}  // namespace shardscope::launch
