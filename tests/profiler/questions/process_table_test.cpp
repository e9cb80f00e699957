#include "profiler/questions/answer/process_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace shardscope::questions {
namespace {

using testing::ElementsAre;

ProcessFacts process(std::int64_t pid, std::int64_t parent, std::int64_t started) {
    ProcessFacts made;
    made.pid = pid;
    made.parent = parent;
    made.started = {started};
    return made;
}

/// "PID:DEPTH"
std::vector<std::string> treeOf(const std::vector<ProcessFacts>& processes) {
    std::vector<std::string> lines;
    for (const PlacedProcess& each : processTree(processes))
        lines.push_back(std::to_string(processes[each.index].pid) + ":" +
                        std::to_string(each.depth));
    return lines;
}

TEST(ProcessTree, EachStandsBelowTheOneThatStartedIt) {
    EXPECT_THAT(treeOf({process(10, 1, 0), process(12, 11, 30), process(11, 10, 20),
                        process(13, 10, 25), process(20, 5, 40)}),
                ElementsAre("10:0", "11:1", "12:2", "13:1", "20:0"));
    EXPECT_THAT(treeOf({}), ElementsAre());
}

TEST(ProcessTree, OfANumberThatWasGivenAgainTheParentIsTheOneBefore) {
    EXPECT_THAT(treeOf({process(10, 1, 0), process(11, 10, 10), process(12, 11, 20),
                        process(11, 10, 30), process(13, 11, 40), process(14, 11, 5)}),
                ElementsAre("10:0", "11:1", "12:2", "11:1", "13:2", "14:0"));
}

TEST(ProcessTree, AChildOfTheSameMomentIsAChild) {
    EXPECT_THAT(treeOf({process(50, 1, 7), process(20, 50, 7)}), ElementsAre("50:0", "20:1"));
}

/// Of a damaged file.
TEST(ProcessTree, CirclesAndChainsEnd) {
    EXPECT_THAT(treeOf({process(1, 1, 0)}), ElementsAre("1:0"));
    EXPECT_THAT(treeOf({process(1, 2, 0), process(2, 1, 0)}), ElementsAre("1:0", "2:1"));
    std::vector<ProcessFacts> chain;
    for (int i = 0; i < 100'000; ++i) chain.push_back(process(i + 1, i, i));
    EXPECT_EQ(processTree(chain).size(), chain.size());
    EXPECT_EQ(processTree(chain).back().depth, 100);
}

TEST(ProcessTable, SaysWhatBecameOfEach) {
    ProcessFacts rank = process(11, 10, 10), ended = process(12, 10, 11),
                 launcher = process(10, 1, 0);
    launcher.role = ProcessRole::kLauncher;
    launcher.exitCode = 1;
    rank.role = ProcessRole::kRank;
    rank.rank = 3;
    rank.attempt = 1;
    rank.exitSignal = 9;
    rank.command = "python train.py";
    rank.cpuTimeNs = 5;
    rank.peakResident = {7};
    ended.ended = {20};
    ended.notRecorded = "a reason";
    const Table table = processTable({launcher, rank, ended});
    const auto text = [&](std::size_t row, const char* key) {
        const std::string* found = table.rows[row][table.columnAt(key)].text();
        return found != nullptr ? *found : std::string("none");
    };
    ASSERT_EQ(table.rows.size(), 3u);
    EXPECT_EQ(text(0, "process"), "launcher");
    EXPECT_EQ(text(0, "end"), "exit 1");
    EXPECT_EQ(text(1, "process"), "  rank 3, attempt 2");
    EXPECT_EQ(text(1, "end"), "signal 9");
    EXPECT_EQ(*table.rows[1][table.columnAt("rank")].integer(), 3);
    EXPECT_EQ(*table.rows[1][table.columnAt("cpu_ns")].integer(), 5);
    EXPECT_EQ(*table.rows[1][table.columnAt("peak_bytes")].integer(), 7);
    EXPECT_EQ(text(1, "not_recorded"), "none");
    EXPECT_EQ(text(2, "process"), "  other");
    EXPECT_EQ(text(2, "end"), "unknown");
    EXPECT_TRUE(table.rows[2][table.columnAt("peak_bytes")].isNone());
    EXPECT_EQ(text(2, "not_recorded"), "a reason");
    EXPECT_EQ(processEnd(rank), "signal 9");
    EXPECT_EQ(processEnd(process(1, 0, 0)), "outlived the recording");
}

}  // namespace
}  // namespace shardscope::questions
