// Collectives between issue and completion, as ranks of a group see them.
#include "profiler/inject/collective_table.h"

#include "storage/model/lanes.h"
#include "tests/profiler/capture/kept_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace shardscope::inject {
namespace {

using test::KeptEvents;
using testing::ElementsAre;

ShardscopeCollective collective(const char* operation, const char* group = "0") {
    ShardscopeCollective made{};
    made.operation = operation;
    made.group = group;
    made.backend = "gloo";
    made.bytes = 4096;
    made.dtype = 6;
    made.group_size = 2;
    made.peer = -1;
    return made;
}

struct Rank {
    KeptEvents kept;
    capture::CaptureSession session{{}, kept};
    CollectiveTable table{session};

    std::uint64_t issue(const ShardscopeCollective& which, std::int64_t at) {
        return table.issued(which, at, StepIndex{3});
    }
    const std::vector<CollectiveEvent>& events() {
        session.drain(0, true);
        return kept.collectives;
    }
};

TEST(CollectiveTable, KeepsOperationSizeTypeAndTimes) {
    Rank rank;
    const auto number = rank.issue(collective("allreduce_"), 10);
    rank.table.completed(number, 50);
    const auto& events = rank.events();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].operation, CollectiveOp::kAllReduce);
    EXPECT_EQ(events[0].size, Bytes{4096});
    EXPECT_EQ(events[0].dtype, DataType::kFloat32);
    EXPECT_EQ(events[0].issue, Timestamp{10});
    EXPECT_EQ(events[0].start, Timestamp{10});
    EXPECT_EQ(events[0].end, Timestamp{50});
    EXPECT_EQ(events[0].step, StepIndex{3});
    ASSERT_EQ(rank.kept.spans.size(), 1u);
    EXPECT_EQ(rank.kept.spans[0].lane, lanes::kCommunication.id);
}

TEST(CollectiveTable, SequencesAreThoseOfTheGroup) {
    Rank rank;
    for (const char* group : {"0", "0", "7", "0", "7"})
        rank.table.completed(rank.issue(collective("barrier", group), 1), 2);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> found;
    for (const CollectiveEvent& each : rank.events()) found.emplace_back(each.group, each.sequence);
    EXPECT_THAT(found, testing::UnorderedElementsAre(std::pair(0u, 0u), std::pair(0u, 1u),
                                                     std::pair(7u, 0u), std::pair(0u, 2u),
                                                     std::pair(7u, 1u)));
}

TEST(CollectiveTable, AMessageIsTheSameForBothRanks) {
    Rank sender, receiver;
    auto send = collective("send"), receive = collective("recv_");
    send.group_rank = receive.peer = 0;
    send.peer = receive.group_rank = 1;
    for (int i = 0; i < 2; ++i) {
        sender.table.completed(sender.issue(send, 1), 2);
        receiver.table.completed(receiver.issue(receive, 1), 2);
    }
    ASSERT_EQ(sender.events().size(), 2u);
    ASSERT_EQ(receiver.events().size(), 2u);
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(sender.events()[i].sequence, receiver.events()[i].sequence);
    EXPECT_NE(sender.events()[0].sequence, sender.events()[1].sequence);
    EXPECT_EQ(sender.events()[0].sequence >> 60, 1u);
}

TEST(CollectiveTable, ACollectiveStartsWhenAWorkerIsFree) {
    Rank rank;
    auto one = collective("allreduce_");
    one.workers = 2;
    const auto first = rank.issue(one, 10), second = rank.issue(one, 11),
               third = rank.issue(one, 12);
    rank.table.completed(first, 40);
    rank.table.completed(third, 60);
    rank.table.completed(second, 70);
    std::map<std::uint64_t, std::int64_t> starts;
    for (const CollectiveEvent& each : rank.events()) starts[each.sequence] = each.start.ns;
    EXPECT_THAT(starts, ElementsAre(std::pair(0u, 10), std::pair(1u, 11), std::pair(2u, 40)));
}

TEST(CollectiveTable, AFailedOneIsLeftOutAndFreesItsWorker) {
    Rank rank;
    auto one = collective("allreduce_");
    one.workers = 1;
    const auto first = rank.issue(one, 10), second = rank.issue(one, 11);
    rank.table.failed(first, 30);
    rank.table.failed(first, 31);  // once more changes nothing
    rank.table.completed(second, 50);
    ASSERT_EQ(rank.events().size(), 1u);
    EXPECT_EQ(rank.events()[0].start, Timestamp{30});
    EXPECT_EQ(rank.events()[0].sequence, 1u);
}

TEST(CollectiveTable, SaysWhereItStands) {
    Rank rank;
    EXPECT_TRUE(rank.table.progress(0).empty());
    rank.table.completed(rank.issue(collective("allreduce_"), 10), 20);
    rank.issue(collective("barrier"), 30);
    rank.issue(collective("broadcast_"), 40);
    auto progress = rank.table.progress(1'000);
    ASSERT_EQ(progress.size(), 1u);
    EXPECT_EQ(progress[0].group, "0");
    EXPECT_EQ(progress[0].issued, 3u);
    EXPECT_EQ(progress[0].sequence, 1u);
    EXPECT_EQ(progress[0].operation, "barrier");
    EXPECT_EQ(progress[0].openNs, 970);
    EXPECT_EQ(rank.table.progress(2'000).size(), 1u);
}

TEST(CollectiveTable, WhatIsNoOperationHasNoNumber) {
    Rank rank;
    EXPECT_EQ(rank.issue(collective("get_process_group"), 1), 0u);
    rank.table.completed(0, 2);
    EXPECT_TRUE(rank.events().empty());
}

TEST(CollectiveTable, ManyGroupsShareALane) {
    Rank rank;
    for (const char* group : {"1", "2", "3", "4"})
        rank.table.completed(rank.issue(collective("barrier", group), 1), 2);
    rank.events();
    std::set<std::uint32_t> used;
    for (const SpanEvent& each : rank.kept.spans) used.insert(each.lane.value);
    EXPECT_EQ(used.size(), lanes::kGroups.size());
}

TEST(GroupNumber, FitsWhatIsDrawnAndIsTheSameEverywhere) {
    EXPECT_EQ(groupNumber("0"), 0u);
    EXPECT_EQ(groupNumber("default_pg"), 0u);
    EXPECT_EQ(groupNumber("12"), 12u);
    const std::uint32_t hashed = groupNumber("5c9f1e0b7a");
    EXPECT_GE(hashed, 2048u);
    EXPECT_LT(hashed, 4096u);
    EXPECT_EQ(groupNumber("5c9f1e0b7a"), hashed);
    EXPECT_GE(groupNumber("99999"), 2048u);
}

}  // namespace
}  // namespace shardscope::inject
