#include "storage/recording/file/worker_pool.h"

#include "storage/recording/file/memory_tally.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <vector>

namespace shardscope::storage {
namespace {

class Workers : public testing::TestWithParam<std::size_t> {};

TEST_P(Workers, DoEveryJobOnceBeforeWaitReturns) {
    WorkerPool pool(GetParam());
    for (int round = 0; round < 20; ++round) {
        std::vector<int> done(500);
        for (int& each : done) pool.submit([&each] { ++each; });
        pool.wait();
        EXPECT_EQ(done, std::vector<int>(500, 1));
    }
}

TEST_P(Workers, AreNoMoreThanAskedFor) {
    WorkerPool pool(GetParam());
    std::mutex mutex;
    std::set<std::thread::id> threads;
    for (int i = 0; i < 2000; ++i)
        pool.submit([&] {
            const std::scoped_lock lock(mutex);
            threads.insert(std::this_thread::get_id());
        });
    pool.wait();
    EXPECT_LE(threads.size(), GetParam());
}

TEST_P(Workers, HandOnAnExceptionWhenAllIsDone) {
    WorkerPool pool(GetParam());
    std::atomic<int> done = 0;
    for (int i = 0; i < 100; ++i)
        pool.submit([&done, i] {
            ++done;
            if (i == 30) throw std::runtime_error("out of memory");
        });
    EXPECT_THROW(pool.wait(), std::runtime_error);
    EXPECT_EQ(done, 100);
    pool.wait();  // and only once
}

TEST_P(Workers, FinishBeforeAScopeIsLeftByAnException) {
    WorkerPool pool(GetParam());
    std::atomic<int> done = 0;
    const auto leave = [&] {
        std::vector<int> data(100, 1);
        const WorkerPool::Drain drain(pool);
        for (int& each : data) pool.submit([&] { done += each; });
        throw std::runtime_error("left");
    };
    EXPECT_THROW(leave(), std::runtime_error);
    EXPECT_EQ(done, 100);
}

INSTANTIATE_TEST_SUITE_P(Threads, Workers, testing::Values(1, 2, 3, 8));

TEST(WorkerPool, OfOneThreadWorksAtOnceOnTheCallersOwn) {
    WorkerPool pool(1);
    std::thread::id worked;
    pool.submit([&] { worked = std::this_thread::get_id(); });
    EXPECT_EQ(worked, std::this_thread::get_id());
    pool.wait();
}

MemoryEvent allocation(MemoryCategory category, std::int64_t size) {
    MemoryEvent event;
    event.category = category;
    event.size = {size};
    return event;
}

TEST(MemoryTally, BlobsComeBackWithEveryCategory) {
    MemoryTally tally;
    for (int i = 0; i < kMemoryCategoryCount; ++i)
        tally.apply(allocation(static_cast<MemoryCategory>(i), i + 1));
    const auto blob = MemoryTally::toBlob(tally.bytes());
    EXPECT_EQ(blob.size(), 8U * kMemoryCategoryCount);
    EXPECT_EQ(MemoryTally::fromBlob(blob), tally.bytes());
}

// Recordings made before "outside the allocator" was a category.
TEST(MemoryTally, ReadsBlobsOfTenCategories) {
    MemoryTally tally;
    tally.apply(allocation(MemoryCategory::kInput, 77));
    auto blob = MemoryTally::toBlob(tally.bytes());
    blob.resize(10 * std::size_t{8});
    const auto bytes = MemoryTally::fromBlob(blob);
    EXPECT_EQ(bytes[static_cast<std::size_t>(MemoryCategory::kInput)].count, 77);
    EXPECT_EQ(bytes[static_cast<std::size_t>(MemoryCategory::kOutside)].count, 0);
    EXPECT_EQ(MemoryTally::startingAt(bytes).total().count, 77);
}

}  // namespace
}  // namespace shardscope::storage
