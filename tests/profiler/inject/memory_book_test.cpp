// What the blocks of a foreign program are for.
#include "profiler/inject/memory_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace shardscope::inject {
namespace {

using testing::ElementsAre;

MemoryEvent event(std::int64_t time, std::uint64_t address, MemoryAction action, Phase phase,
                  std::int32_t step = 0, std::int64_t size = 100) {
    MemoryEvent made;
    made.time = {time};
    made.address = address;
    made.action = action;
    made.phase = phase;
    made.step = {step};
    made.size = {size};
    return made;
}
MemoryEvent allocated(std::int64_t time, std::uint64_t address, Phase phase,
                      std::int32_t step = 0) {
    return event(time, address, MemoryAction::kAllocate, phase, step);
}
MemoryEvent freed(std::int64_t time, std::uint64_t address, Phase phase, std::int32_t step = 0) {
    return event(time, address, MemoryAction::kFree, phase, step);
}

std::vector<MemoryEvent> passed(MemoryBook& book, std::vector<MemoryEvent> events, bool all = true,
                                std::int64_t settled = 1'000'000) {
    book.pass(events, {settled}, all);
    return events;
}

std::vector<MemoryCategory> categories(const std::vector<MemoryEvent>& events) {
    std::vector<MemoryCategory> found;
    for (const MemoryEvent& each : events) found.push_back(each.category);
    return found;
}

TEST(MemoryBook, WhatLivesFromForwardToBackwardIsAnActivation) {
    MemoryBook book;
    const auto events =
        passed(book, {allocated(1, 10, Phase::kForward), allocated(2, 20, Phase::kForward),
                      freed(3, 20, Phase::kForward), freed(4, 10, Phase::kBackward)});
    EXPECT_THAT(categories(events),
                ElementsAre(MemoryCategory::kActivation, MemoryCategory::kTemporary,
                            MemoryCategory::kTemporary, MemoryCategory::kActivation));
}

TEST(MemoryBook, WhatNothingProvesStaysOther) {
    MemoryBook book;
    const auto events =
        passed(book, {allocated(1, 10, Phase::kForward, 0), allocated(2, 20, Phase::kNone, 0),
                      freed(3, 20, Phase::kNone, 0), freed(9, 10, Phase::kBackward, 1)});
    EXPECT_THAT(categories(events), testing::Each(MemoryCategory::kOther));
}

TEST(MemoryBook, WhatTheLoaderMakesIsInput) {
    MemoryBook book;
    const auto events =
        passed(book, {allocated(1, 10, Phase::kData), freed(2, 10, Phase::kBackward)});
    EXPECT_THAT(categories(events), testing::Each(MemoryCategory::kInput));
}

TEST(MemoryBook, EventsOfAStepWaitForItsEnd) {
    MemoryBook book;
    EXPECT_TRUE(passed(book, {allocated(1, 10, Phase::kForward, 0)}, false).empty());
    const auto events = passed(
        book, {freed(2, 10, Phase::kBackward, 0), allocated(3, 30, Phase::kForward, 1)}, false);
    EXPECT_THAT(categories(events),
                ElementsAre(MemoryCategory::kActivation, MemoryCategory::kActivation));
    EXPECT_EQ(passed(book, {}).size(), 1u);
}

TEST(MemoryBook, AMarkCountsForWhatWaits) {
    MemoryBook book;
    passed(book, {allocated(1, 10, Phase::kNone)}, false);
    book.mark(10, MemoryCategory::kParameterShard, {5});
    const auto events = passed(book, {});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].category, MemoryCategory::kParameterShard);
    EXPECT_EQ(events[0].time, Timestamp{1});
}

TEST(MemoryBook, AMarkAfterwardsMovesTheBlock) {
    MemoryBook book;
    EXPECT_EQ(passed(book, {allocated(1, 10, Phase::kNone)}).size(), 1u);
    book.mark(10, MemoryCategory::kParameterShard, {5});
    book.mark(99, MemoryCategory::kGradient, {5});  // no such block
    const auto events = passed(book, {freed(9, 10, Phase::kNone)});
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(events[0].action, MemoryAction::kFree);
    EXPECT_EQ(events[0].category, MemoryCategory::kOther);
    EXPECT_EQ(events[1].action, MemoryAction::kAllocate);
    EXPECT_EQ(events[1].category, MemoryCategory::kParameterShard);
    EXPECT_EQ(events[1].time, Timestamp{5});
    EXPECT_EQ(events[2].category, MemoryCategory::kParameterShard);
}

TEST(MemoryBook, AFreeMayComeBeforeItsAllocation) {
    MemoryBook book;
    // Another thread's free was taken from its queue first.
    EXPECT_TRUE(passed(book, {freed(8, 10, Phase::kForward)}, false, 5).empty());
    const auto events = passed(book, {allocated(7, 10, Phase::kForward)});
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].action, MemoryAction::kAllocate);
    EXPECT_EQ(events[1].action, MemoryAction::kFree);
}

TEST(MemoryBook, AnUnknownFreeIsLeftOutAndALostOneIsMadeUp) {
    MemoryBook book;
    EXPECT_TRUE(passed(book, {freed(1, 10, Phase::kForward)}).empty());
    const auto events =
        passed(book, {allocated(2, 20, Phase::kForward), allocated(3, 20, Phase::kForward)});
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(events[1].action, MemoryAction::kFree);
    EXPECT_EQ(events[1].time, Timestamp{3});
}

/// In any order, with marks: what is alive by the events is what is alive, in every category.
TEST(MemoryBook, SumsStayRight) {
    std::mt19937 random(7);
    MemoryBook book;
    std::map<std::uint64_t, std::int64_t> alive;
    std::map<MemoryCategory, std::int64_t> sums;
    const auto add = [&](const std::vector<MemoryEvent>& events) {
        for (const MemoryEvent& each : events) {
            std::int64_t& sum = sums[each.category];
            sum += each.action == MemoryAction::kAllocate ? each.size.count : -each.size.count;
            EXPECT_GE(sum, 0);
        }
    };
    std::vector<MemoryEvent> batch;
    for (std::int64_t time = 1; time < 20'000; ++time) {
        const std::uint64_t address = 1 + random() % 200;
        const auto phase = static_cast<Phase>(random() % 6);
        const auto step = static_cast<std::int32_t>(time / 500);
        if (alive.contains(address)) {
            batch.push_back(event(time, address, MemoryAction::kFree, phase, step, alive[address]));
            alive.erase(address);
        } else {
            alive[address] = static_cast<std::int64_t>(random() % 1000);
            batch.push_back(
                event(time, address, MemoryAction::kAllocate, phase, step, alive[address]));
        }
        if (random() % 10 == 0)
            book.mark(address, static_cast<MemoryCategory>(random() % 9), {time});
        if (random() % 100 == 0) {
            book.pass(batch, {time - 50}, false);
            add(batch);
            batch.clear();
        }
    }
    book.pass(batch, {}, true);
    add(batch);
    std::int64_t all = 0, expected = 0;
    for (const auto& [category, sum] : sums) all += sum;
    for (const auto& [address, size] : alive) expected += size;
    EXPECT_EQ(all, expected);
}

}  // namespace
}  // namespace shardscope::inject
