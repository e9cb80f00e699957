#include "engine/launch/program/process_tree.h"

#include "engine/launch/program/proc_files.h"
#include "tests/engine/launch/program/fake_proc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace shardscope::launch {
namespace {

using test::FakeProcess;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr pid_t kRoot = 1000;

class ProcessTreeTest : public testing::Test {
protected:
    ProcessTreeTest() { m_proc.put({.pid = kRoot, .command = "bash job.sh"}); }

    ProcessTree tree(const std::string& marker = "") const {
        return ProcessTree(kRoot, marker, m_proc.path());
    }
    static std::vector<pid_t> alive(const ProcessTree& tree) {
        std::vector<pid_t> numbers;
        for (const auto& [pid, process] : tree.alive()) numbers.push_back(pid);
        return numbers;
    }
    static std::vector<pid_t> look(ProcessTree& tree) {
        std::vector<pid_t> ended;
        for (const TreeProcess& each : tree.look()) ended.push_back(each.pid);
        return ended;
    }

    test::FakeProc m_proc;
};

TEST_F(ProcessTreeTest, ProcessesComeAndGo) {
    m_proc.put({.pid = 500});
    ProcessTree tree = this->tree();
    EXPECT_THAT(look(tree), IsEmpty());
    EXPECT_THAT(alive(tree), ElementsAre(kRoot));
    m_proc.put({.pid = 1001, .parent = kRoot, .command = "python train.py"});
    m_proc.put({.pid = 1002, .parent = 1001, .command = "python train.py"});
    EXPECT_THAT(look(tree), IsEmpty());
    EXPECT_THAT(alive(tree), ElementsAre(kRoot, 1001, 1002));
    EXPECT_EQ(tree.alive().at(1002).command, "python train.py");
    EXPECT_EQ(tree.alive().at(1002).parent, 1001);
    m_proc.end(1002);
    EXPECT_THAT(look(tree), ElementsAre(1002));
    EXPECT_THAT(look(tree), IsEmpty()) << "handed out once";
    EXPECT_THAT(alive(tree), ElementsAre(kRoot, 1001));
}

TEST_F(ProcessTreeTest, AParentMayEndFirst) {
    ProcessTree tree = this->tree();
    m_proc.put({.pid = 1001, .parent = kRoot});
    m_proc.put({.pid = 1002, .parent = 1001});
    look(tree);
    m_proc.end(1001);
    m_proc.put({.pid = 1002, .parent = 1});
    EXPECT_THAT(look(tree), ElementsAre(1001));
    EXPECT_THAT(alive(tree), ElementsAre(kRoot, 1002));
    EXPECT_EQ(tree.alive().at(1002).parent, 1001) << "as it was seen first";
    m_proc.put({.pid = 1003, .parent = 1002});
    m_proc.end(kRoot);
    EXPECT_THAT(look(tree), ElementsAre(kRoot));
    EXPECT_THAT(alive(tree), ElementsAre(1002, 1003));
}

TEST_F(ProcessTreeTest, ChildrenMayHaveLowerNumbersThanTheirParents) {
    m_proc.put({.pid = 7, .parent = 12});
    m_proc.put({.pid = 12, .parent = 40'000});
    m_proc.put({.pid = 40'000, .parent = kRoot});
    ProcessTree tree = this->tree();
    look(tree);
    EXPECT_THAT(alive(tree), ElementsAre(7, 12, kRoot, 40'000));
}

TEST_F(ProcessTreeTest, ANumberThatIsGivenAgainIsAnotherProcess) {
    ProcessTree tree = this->tree();
    m_proc.put({.pid = 1001, .parent = kRoot, .start = 1500, .ticks = 30});
    look(tree);
    // To a stranger, who starts one more.
    m_proc.put({.pid = 1001, .parent = 1, .start = 2000});
    m_proc.put({.pid = 1002, .parent = 1001, .start = 2001});
    EXPECT_THAT(look(tree), ElementsAre(1001));
    EXPECT_THAT(alive(tree), ElementsAre(kRoot));
    // To one of ours.
    m_proc.put({.pid = 1003, .parent = kRoot, .start = 3000});
    look(tree);
    m_proc.put({.pid = 1003, .parent = kRoot, .start = 4000});
    EXPECT_THAT(look(tree), ElementsAre(1003));
    EXPECT_EQ(tree.alive().at(1003).startTicks, 4000u);
}

TEST_F(ProcessTreeTest, ExecMakesAnotherProgramOfIt) {
    ProcessTree tree = this->tree();
    m_proc.put({.pid = 1001, .parent = kRoot, .command = "bash job.sh", .ticks = 2, .pages = 50});
    look(tree);
    m_proc.put({.pid = 1001, .parent = kRoot, .command = "python train.py", .ticks = 3});
    EXPECT_THAT(look(tree), IsEmpty());
    EXPECT_EQ(tree.alive().at(1001).command, "python train.py");
    EXPECT_EQ(tree.alive().at(1001).peakResident.count, 50 * ::sysconf(_SC_PAGESIZE));
}

TEST_F(ProcessTreeTest, AZombieKeepsItsCommand) {
    ProcessTree tree = this->tree();
    m_proc.put({.pid = 1001, .parent = kRoot, .command = "python train.py"});
    look(tree);
    m_proc.put({.pid = 1001, .parent = kRoot, .command = "", .pages = 0, .state = 'Z'});
    EXPECT_THAT(look(tree), IsEmpty());
    EXPECT_TRUE(tree.alive().at(1001).zombie);
    EXPECT_EQ(tree.alive().at(1001).command, "python train.py");
}

TEST_F(ProcessTreeTest, OrphansAreKnownByTheirEnvironment) {
    const std::string marker = "SOCKET=/run/x";
    m_proc.put({.pid = 900, .start = 500, .environment = "A=1 SOCKET=/run/x"});
    ProcessTree tree = this->tree(marker);
    m_proc.put({.pid = 2000, .start = 2000, .environment = "A=1 SOCKET=/run/x B=2"});
    m_proc.put({.pid = 2001, .parent = 2000, .start = 2001});
    m_proc.put({.pid = 2002, .start = 2002, .environment = "SOCKET=/run/xy OTHER_SOCKET=/run/x"});
    look(tree);
    EXPECT_THAT(alive(tree), ElementsAre(kRoot, 2000, 2001))
        << "900 was there before, 2002 has another value";
    ProcessTree without = this->tree();
    look(without);
    EXPECT_THAT(alive(without), ElementsAre(kRoot));
}

TEST_F(ProcessTreeTest, TimeAndMemoryAreThoseOfAll) {
    ProcessTree tree = this->tree();
    m_proc.put({.pid = 1001, .parent = kRoot, .ticks = 40, .pages = 10, .peakKilobytes = 4'000});
    m_proc.put({.pid = 1002, .parent = kRoot, .ticks = 60, .pages = 20});
    look(tree);
    const std::int64_t page = ::sysconf(_SC_PAGESIZE),
                       tick = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
    EXPECT_EQ(tree.resident().count, 31 * page);
    EXPECT_EQ(tree.cpuNs(), 100 * tick);
    EXPECT_EQ(tree.alive().at(1001).peakResident.count, 4'096'000);
    m_proc.end(1002);
    look(tree);
    EXPECT_EQ(tree.resident().count, 11 * page);
    EXPECT_EQ(tree.cpuNs(), 100 * tick) << "what it used stays";
}

TEST_F(ProcessTreeTest, NamesMayHoldAnything) {
    m_proc.put({.pid = 1001, .parent = kRoot, .ticks = 7, .name = "a) S 1 (b"});
    ProcessTree tree = this->tree();
    look(tree);
    ASSERT_TRUE(tree.has(1001));
    EXPECT_EQ(tree.alive().at(1001).name, "a) S 1 (b");
    EXPECT_EQ(tree.cpuNs(), 7 * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
}

TEST_F(ProcessTreeTest, ALongCommandIsCutBetweenCharacters) {
    std::string argument(298, 'x');
    argument += "\u00e9\u00e9";
    m_proc.put({.pid = 1001, .parent = kRoot, .command = "y" + argument});
    ProcessTree tree = this->tree();
    look(tree);
    EXPECT_EQ(tree.alive().at(1001).command, "y" + std::string(298, 'x'));
}

TEST_F(ProcessTreeTest, OneThatReportsIsOfTheProgram) {
    m_proc.put({.pid = 500});
    ProcessTree tree = this->tree();
    tree.add(500);
    tree.add(501);
    EXPECT_THAT(alive(tree), ElementsAre(500, kRoot)) << "there is no 501";
}

TEST(ProcFiles, WhatIsNotThereIsEmpty) {
    EXPECT_EQ(procText("/proc/self/no-such-file", 100), "");
    EXPECT_EQ(linkText("/proc/self/no-such-file"), "");
    EXPECT_EQ(procStat("").fields[ProcStat::kParent], 0);
    EXPECT_EQ(procStat("12 ab").fields[ProcStat::kParent], 0);
    EXPECT_EQ(procStat("12 (a").state, 0);
    EXPECT_EQ(statusNumber("VmHWMX:\t 5 kB\n", "VmHWM"), 0);
    EXPECT_EQ(statusNumber("A:\t1\nVmHWM:\t 5 kB", "VmHWM"), 5);
}

TEST(ProcFiles, VariablesAreWhole) {
    const std::string variables("A=1\0BA=2\0C=\0", 12);
    EXPECT_TRUE(hasEntry(variables, "BA=2"));
    EXPECT_FALSE(hasEntry(variables, "A=2"));
    EXPECT_EQ(variableIn(variables, "BA"), "2");
    EXPECT_EQ(variableIn(variables, "B").data(), nullptr);
    EXPECT_NE(variableIn(variables, "C").data(), nullptr);
}

}  // namespace
}  // namespace shardscope::launch
